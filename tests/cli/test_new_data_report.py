"""The report of a model on a new table: scores there, and drift against the training table."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy.stats import ks_2samp

import committee
from committee.cli.errors import CommandError
from committee.cli.fit import fit_problem
from committee.cli.output import write_model
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem
from committee.cli.report import NewDataFindings, summarize_training, write_model_report
from committee.cli.report.drift.distances import compare_feature, compare_outcome, measure_stability
from committee.cli.report.drift.training_summary import FeatureSummary, LevelSummary, NumberSummary, read_summary
from committee.cli.report.markup import show_estimate
from committee.cli.table import Source, read_source
from committee.exceptions import ModelFileError
from committee.io import describe_file
from tests.cli.test_report import read_page


def make_table(n_rows: int, seed: int, *, shift: float = 0.0, color: str = "blue", holes: float = 0.02) -> pa.Table:
    rng = np.random.default_rng(seed)
    width = rng.normal(size=n_rows)
    length = rng.normal(size=n_rows) + shift
    colors = rng.choice(["red", "green", color], size=n_rows, p=[0.5, 0.3, 0.2])
    noise = rng.normal(scale=0.3, size=n_rows)
    kind = np.where(width + (colors == "red") + noise > 0.5, "large", "small")
    empty = rng.random(n_rows) < holes
    return pa.table(
        {
            "width": width,
            "length": pa.array(length, mask=empty),
            "color": colors.tolist(),
            "day": pa.array(rng.integers(0, 4000, size=n_rows).astype(np.int32)).cast(pa.date32()),
            "note": [f"a long text about row {k} that says {'very ' * (k % 7)}little else" for k in range(n_rows)],
            "kind": kind.tolist(),
        }
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file as the command writes it."""
    path = tmp_path_factory.mktemp("model") / "things.committee"
    problem = define_problem(Source("things.csv", make_table(600, 0), "kind"), Roles(drop=("note",)), "auto")
    results = fit_problem(problem, Plan("random-forest", {"n_estimators": 20}, 3, 0, 1))
    write_model(results.model, path, summarize_training(problem, results).write_notes())
    return path


def report(model: Path, table: pa.Table, target: str | None = None) -> tuple[NewDataFindings, Path]:
    pyarrow.parquet.write_table(table, model.parent / "new.parquet")
    page = model.parent / "new.html"
    found = write_model_report(str(model), str(model.parent / "new.parquet"), target, page, jobs=1)
    assert found.n_bytes == page.stat().st_size
    return found, page


def test_a_table_of_the_same_kind_has_not_drifted(model: Path) -> None:
    found, path = report(model, make_table(400, 1))
    assert found.drifted == ()
    assert found.target == "kind"
    assert found.training is not None
    assert found.training.n_rows == 600
    accuracy, then = found.scores["accuracy"], found.training.scores["accuracy"]
    assert accuracy.model.mean > accuracy.baseline.mean + 0.1
    page = read_page(path)
    assert "Nothing unusual: none of the 4 columns has drifted" in page.text
    assert "not clearly different from" in found.sentences[1]
    assert show_estimate(then[0], then[1]) in found.sentences[1]
    ids = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
    assert ids == ["score", "drift", "calibration", "confusion", "surprises", "importance"]


def test_the_training_table_itself_is_recognised(model: Path) -> None:
    found, _ = report(model, make_table(600, 0))
    assert found.drifted == ()
    assert "looks like the training table itself" in found.sentences[1]
    assert "says nothing about new rows" in found.sentences[1]


def test_drift_is_found_and_said(model: Path) -> None:
    found, path = report(model, make_table(400, 2, shift=1.5, color="violet", holes=0.4))
    levels = {one.name: one for one in found.drifts}
    assert {name for name, one in levels.items() if one.level == "none"} == {"width", "day"}
    assert levels["length"].level == levels["color"].level == "large"
    remarks = " ".join(levels["length"].remarks)
    assert "missing values rose from" in remarks
    assert "values tend to be larger" in remarks
    assert any("an unseen category: 'violet'" in remark for remark in levels["color"].remarks)
    text = read_page(path).text
    assert "2 of 4 columns have drifted, 2 of them much." in text
    assert "2 of its 4 columns have drifted from the training table" in found.sentences[2]
    assert "% of the importance" in text
    # The order of the page: what drifted first.
    assert {one.name for one in found.drifts[:2]} == {"length", "color"}


def test_without_a_target_only_drift_is_measured(model: Path) -> None:
    found, path = report(model, make_table(100, 3).drop_columns(["kind"]))
    assert found.scores == {}
    assert found.target is None
    assert "could not be scored" in found.sentences[1]
    page = read_page(path)
    assert [attrs["id"] for tag, attrs in page.tags if tag == "section"] == ["drift"]
    with pytest.raises(CommandError, match="no column 'absent'"):
        report(model, make_table(100, 3), "absent")


def test_a_class_that_the_model_has_never_seen(model: Path) -> None:
    table = make_table(200, 4)
    kinds = table.column("kind").to_pylist()
    kinds[:50] = ["huge"] * 50
    found, path = report(model, table.set_column(5, "kind", pa.array(kinds)))
    assert "huge" in read_page(path).text
    assert found.scores["accuracy"].model.mean < 0.8
    assert "clearly worse than" in found.sentences[1]


def test_a_model_without_a_summary(tmp_path: Path) -> None:
    source = read_source("diabetes", "utf-8")
    X, y = source.table.drop_columns([str(source.target)]), source.table.column(str(source.target)).to_numpy()
    committee.save(committee.ExtraTreesRegressor(10, random_state=0, n_jobs=1).fit(X, y), tmp_path / "m")
    found = write_model_report(str(tmp_path / "m"), "diabetes", None, tmp_path / "p.html")
    assert found.training is None
    assert found.drifts == ()
    assert set(found.scores) == {"R²", "mean absolute error"}
    assert "no summary of its training table" in read_page(tmp_path / "p.html").text


def test_the_summary_survives_the_file(model: Path) -> None:
    notes = describe_file(model).notes
    summary = read_summary(notes)
    assert summary is not None
    assert summary.write_notes() == notes
    assert [one.kind for one in summary.features] == ["number", "number", "category", "date"]
    assert isinstance(summary.outcome, LevelSummary)
    assert set(summary.outcome.shares) == {"large", "small"}
    assert read_summary({}) is None
    assert read_summary({"training table": {"version": 99}}) is None
    broken = {"training table": {**notes["training table"], "rows": "many"}}
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_summary(broken)
    for part in notes["training table"]:
        if part != "version":
            left = {key: value for key, value in notes["training table"].items() if key != part}
            with pytest.raises(ModelFileError, match="cannot be read"):
                read_summary({"training table": left})


def test_long_texts_are_compared_by_length() -> None:
    problem = define_problem(Source("t", make_table(300, 0), "kind"), Roles(), "auto")
    results = fit_problem(problem, Plan("tree", {"max_depth": 2}, 2, 0, 1))
    feature = {one.name: one for one in summarize_training(problem, results).features}["note"]
    assert feature.kind == "text"
    short = pa.chunked_array([["short"] * 200])
    assert compare_feature(feature, short, 300, 1, None).level == "large"
    assert compare_feature(feature, problem.features.column("note"), 300, 1, None).level == "none"


def test_distances_are_those_of_the_definitions() -> None:
    rng = np.random.default_rng(0)
    before, now = rng.normal(size=5000), rng.normal(0.4, 1.2, size=3000)
    content = NumberSummary.of_values(before)
    assert content is not None
    drift = compare_feature(FeatureSummary("x", "number", False, 0.0, content), pa.chunked_array([now]), 5000, 1, None)
    assert drift.distance == pytest.approx(ks_2samp(before, now).statistic, abs=0.025)
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.3, 0.4])
    expected = float(((q - p) * np.log(q / p)).sum())
    assert measure_stability(p, q, (10**7, 10**7))[0] == pytest.approx(expected, rel=1e-4)
    # By chance alone, the index of few rows is large; the test is not deceived.
    levels = [
        compare_feature(
            FeatureSummary("x", "number", False, 0.0, content), pa.chunked_array([rng.normal(size=60)]), 5000, 1, None
        ).level
        for _ in range(100)
    ]
    assert sum(level != "none" for level in levels) <= 4


def test_categories_that_are_numbers_and_constants() -> None:
    content = NumberSummary.of_values(np.full(50, 3.0))
    assert content is not None
    same = FeatureSummary("x", "number", False, 0.0, content)
    assert compare_feature(same, pa.chunked_array([np.full(50, 3.0)]), 50, 1, None).level == "none"
    assert compare_feature(same, pa.chunked_array([np.full(50, 4.0)]), 50, 1, None).level == "large"
    assert compare_feature(same, pa.chunked_array([pa.nulls(50, pa.float64())]), 50, 1, None).level == "large"


def test_other_categories_are_drawn_where_there_are_some() -> None:
    few, many = ("a", "b"), [f"level {k}" for k in range(40)]
    for trained, new, drawn in ((few, few, False), (few, ("a", "c"), True), (many, many[:2], True)):
        summary = LevelSummary.of_counts(dict.fromkeys(trained, 5))
        drift = compare_outcome("kind", summary, pa.chunked_array([list(new) * 10]), 100)
        assert ("others" in drift.labels) == drawn
        assert [len(shares) for shares in drift.shares] == [len(drift.labels)] * 2
