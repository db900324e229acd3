"""Files of bins: the models of the table itself, and refusals of files that are damaged."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import committee
from committee.exceptions import DataError, DataTypeError, ModelFileError

N = 900


def make_frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=N),
            "place": rng.choice(["a", "b", "c"], N),
            "code": [f"k{k}" for k in rng.integers(0, 400, N)],
            "when": pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="h"),
        }
    )
    frame.loc[:80, "size"] = np.nan
    frame.loc[5, "code"] = None
    frame["weight"] = rng.integers(1, 4, N) * 1.0
    frame["label"] = np.where(frame["size"].fillna(0) + (frame["place"] == "a") > 0.4, "yes", "no")
    return frame


def write(folder: Path, **options: object) -> committee.BinnedFile:
    frame = make_frame()
    committee.bin_table([frame[:300], frame[300:]], folder / "t.bins", ["label"], sample_weight="weight", **options)  # type: ignore[arg-type]
    return committee.BinnedFile(folder / "t.bins")


@pytest.mark.parametrize(
    "model",
    [
        committee.RandomForestClassifier(n_estimators=4, oob_score=True, random_state=0),
        committee.HistGradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=0),
        committee.AdaBoostClassifier(n_estimators=5, random_state=0),
        committee.AdaBoostClassifier(committee.DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0),
        committee.BaggingClassifier(n_estimators=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_fits_give_the_models_of_the_table(model: object, tmp_path: Path) -> None:
    from sklearn.base import clone

    bins, paths = write(tmp_path), (tmp_path / "a.committee", tmp_path / "b.committee")
    committee.save(clone(model).fit(bins, "label", sample_weight="weight"), paths[0])
    committee.save(clone(model).fit(make_frame(), "label", sample_weight="weight"), paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_early_stopping_keeps_the_bins_of_all_rows(tmp_path: Path) -> None:
    bins = write(tmp_path)
    model = committee.HistGradientBoostingClassifier(max_iter=8, early_stopping=True, random_state=0)
    model.fit(bins, "label")
    assert len(model.validation_score_) == model.n_iter_ + 1
    assert model.score(make_frame().drop(columns=["label", "weight"]), make_frame()["label"]) > 0.8


def test_what_a_file_holds(tmp_path: Path) -> None:
    bins = write(tmp_path)
    assert bins.shape[0] == N
    assert bins.column_names == ("label", "weight")
    assert bins.read_column("label").tolist() == make_frame()["label"].tolist()
    assert np.array_equal(bins.read_column("weight"), make_frame()["weight"])


def test_a_fit_that_needs_something_else_is_refused(tmp_path: Path) -> None:
    bins = write(tmp_path)
    with pytest.raises(DataError, match="wants max_bins=63"):
        committee.RandomForestClassifier(n_estimators=2, max_bins=63).fit(bins, "label")
    with pytest.raises(DataError, match="holds no column 'nothing'"):
        committee.RandomForestClassifier().fit(bins, "nothing")
    with pytest.raises(DataTypeError, match="learns from values"):
        committee.IsolationForest().fit(bins)


def change_header(path: Path, **changes: object) -> None:
    held = path.read_bytes()
    length = int.from_bytes(held[8:16], "little")
    header = {**json.loads(held[16 : 16 + length]), **changes}
    text = json.dumps(header).encode()
    assert len(text) <= length
    path.write_bytes(held[:16] + text.ljust(length) + held[16 + length :])


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"n_rows": N - 1},
        {"max_bins": 999},
        {"sections": []},
        {"sections": [["bins", 64, -1]]},
        {"schema": {}},
    ],
)
def test_headers_out_of_place_are_refused(changes: dict[str, object], tmp_path: Path) -> None:
    write(tmp_path)
    change_header(tmp_path / "t.bins", **changes)
    with pytest.raises(ModelFileError, match="no file of bins, or is damaged"):
        committee.BinnedFile(tmp_path / "t.bins")


def test_damaged_bytes_are_refused(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / "t.bins"
    held = path.read_bytes()
    for broken in (b"", b"CMTBINS", held[:100], held[: len(held) // 2], b"X" + held[1:]):
        path.write_bytes(broken)
        with pytest.raises(ModelFileError, match="no file of bins"):
            committee.BinnedFile(path)
    with pytest.raises(ModelFileError, match="cannot be opened"):
        committee.BinnedFile(tmp_path / "nothing.bins")


def test_bins_that_a_column_does_not_have_are_refused(tmp_path: Path) -> None:
    bins = write(tmp_path)
    columns = np.memmap(bins.path, np.uint8, "r+", bins._sections["columns"][0], bins.shape[::-1])
    columns[1, 7] = 77  # of three levels
    columns.flush()
    with pytest.raises(ValueError, match="a bin that it does not have"):
        committee.RandomForestClassifier(n_estimators=1).fit(committee.BinnedFile(bins.path), "label")
