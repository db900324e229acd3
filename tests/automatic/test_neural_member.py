"""Networks as members: what they see, rows that count twice, exports, model files and time budgets."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.automatic import neural_member
from committee.automatic.baseline_members import LinearMember
from committee.automatic.neural_member import NeuralMember
from committee.automatic.portfolio import PORTFOLIO, FitContext, choose_entries
from committee.automatic.presets import find_preset
from committee.automatic.time_limits import afford_epochs, has_time
from committee.engines.formula import TableRow
from committee.ensembles.combining.training_set import TrainingSet

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[:, 3] = RNG.integers(0, 3, 300)
X[::7, 1] = np.nan
CLASSES = (np.abs(X[:, 0]) > 0.7).astype(int) + (X[:, 3] == 1)
VALUES = 50.0 + 20.0 * np.abs(X[:, 0]) + 5.0 * (X[:, 3] == 1)


def take_layers(member: NeuralMember) -> list[bytes]:
    return [part.tobytes() for part in (*member.coefs_, *member.intercepts_)]


def test_a_network_sees_bends_that_no_line_has() -> None:
    train, test = np.arange(0, 300, 2), np.arange(1, 300, 2)
    network, linear = (kind(False, [3]).fit(X[train], VALUES[train]) for kind in (NeuralMember, LinearMember))
    errors = [((one.predict(X[test]) - VALUES[test]) ** 2).mean() for one in (network, linear)]
    assert errors[0] < 0.4 * errors[1]
    network = NeuralMember(True, [3]).fit(X[train], CLASSES[train])
    assert (network.predict(X[test]) == CLASSES[test]).mean() > 0.85
    np.testing.assert_allclose(network.predict_proba(X[test]).sum(axis=1), 1.0)


@pytest.mark.parametrize("classify", [True, False])
def test_a_weight_is_so_many_rows(classify: bool) -> None:
    y = CLASSES if classify else VALUES
    counts = np.arange(300) % 3
    weighted = NeuralMember(classify, [3], n_epochs=3).fit(X, y, sample_weight=counts.astype(float))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(300), counts))
    assert take_layers(NeuralMember(classify, [3], n_epochs=3).fit(X[rows], y[rows])) == take_layers(weighted)
    assert take_layers(NeuralMember(classify, [3], n_epochs=3, seed=1).fit(X[rows], y[rows])) != take_layers(weighted)


def test_numbers_are_cut_at_quantiles() -> None:
    table = np.column_stack([np.arange(100.0), np.arange(100) % 2, np.full(100, np.nan)])
    table[0, 0] = np.nan
    member = NeuralMember(False, n_epochs=1).fit(table, np.arange(100.0))
    assert set(member.piece_columns_) == {0}
    assert len(member.piece_columns_) == neural_member._N_PIECES
    ends = member.piece_starts_ + member.piece_widths_
    assert (member.piece_starts_[0], ends[-1]) == (1.0, 99.0)
    np.testing.assert_array_equal(member.piece_starts_[1:], ends[:-1])
    pieces = member._encode(np.array([[1.0, 0.0, 0.0], [99.0, 0.0, 0.0], [1e300, 0.0, 0.0], [np.nan] * 3]))[:, 5:]
    np.testing.assert_array_equal(pieces.sum(axis=1), [0.0, neural_member._N_PIECES, neural_member._N_PIECES, 0.0])
    wide = NeuralMember(False, n_epochs=1).fit(RNG.normal(size=(50, 100)), np.arange(50.0))
    assert len(wide.piece_columns_) == 200


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows(n_rows: int) -> None:
    for y in (np.full(n_rows, 1e300), np.arange(n_rows) * 1e-300):
        assert np.isfinite(NeuralMember(False).fit(np.zeros((n_rows, 2)), y).predict(np.ones((2, 2)))).all()
    assert np.isfinite(NeuralMember(True).fit(X[:n_rows], np.arange(n_rows)).predict_proba(X)).all()


def test_large_tables_are_used_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []
    train = neural_member.train_network
    monkeypatch.setattr(neural_member, "_MAX_USES", 3000)
    monkeypatch.setattr(
        neural_member, "train_network", lambda *args, **given: used.append(given["n_epochs"]) or train(*args, **given)
    )
    for n_rows, n_epochs in ((100, 16), (250, 12), (300, 10)):
        NeuralMember(False).fit(X[:n_rows], VALUES[:n_rows])
        assert used.pop() == n_epochs


def test_a_row_alone_has_the_bits_of_a_row_among_others() -> None:
    member = NeuralMember(True, [3], n_epochs=2).fit(X, CLASSES)
    whole = member.predict_proba(X)
    for k in (0, 7, 299):
        np.testing.assert_array_equal(member.predict_proba(X[k : k + 1])[0], whole[k])


def test_formulas_know_their_columns() -> None:
    member = NeuralMember(False, [3], n_epochs=1).fit(X, VALUES)
    assert member.to_formula().schema.n_features == 4
    assert member.to_formula(TableRow(4)).value.width == 1


@pytest.mark.parametrize("classify", [True, False])
def test_a_committee_with_networks(classify: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.automatic.portfolio_fits._MIN_PARALLEL_ROWS", 100)
    y, kind = (CLASSES, CommitteeClassifier) if classify else (VALUES, CommitteeRegressor)

    def fit(n_jobs: int, **params: Any) -> Any:
        usual = {"portfolio": ["network", "linear"], "categorical_features": [3], "random_state": 0}
        return kind(**usual, n_jobs=n_jobs, **params).fit(X, y)

    model, predict = fit(1), "predict_proba" if classify else "predict"
    wanted = getattr(model, predict)(X)
    np.testing.assert_array_equal(getattr(fit(2), predict)(X), wanted)
    board = {row["name"]: row for row in model.leaderboard_}
    assert board["network"]["weight"] > 0.5
    assert board["network"]["rounds"] is None
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(getattr(load(tmp_path / "model"), predict)(X), wanted)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_only_the_best_preset_has_networks_and_symmetric_trees(n_classes: int) -> None:
    names = ["network", "long network"]
    for preset, n_rows, wanted in (
        ("best", 20_000, names),
        ("best", 20_001, []),
        ("best", 3000, names),
        ("best", 2999, names if n_classes == 3 else []),
        ("best", 299, []),
        ("balanced", 500, []),
        ("fast", 500, []),
    ):
        how = find_preset(preset, n_rows)
        found = [e.name for e in choose_entries(None, None, n_rows, n_classes=n_classes, preset=how)]
        assert [name for name in found if "network" in name] == wanted
        assert ("symmetric boosting" in found) == (preset == "best" and n_rows >= 3000)
        assert ("random boosting" in found) == (preset == "best")
        assert ("large kernel" in found) == (preset == "best" and n_classes == 3 and 1000 < n_rows <= 20_000)
    assert [e.name for e in choose_entries(names, None, 50_000)] == names


def test_networks_come_before_what_a_budget_may_leave_out() -> None:
    order = [e.name for e in PORTFOLIO]
    assert order.index("long network") < order.index("large kernel") < order.index("shallow boosting")


def test_long_networks_of_several_classes_are_wide() -> None:
    entry = next(e for e in PORTFOLIO if e.name == "long network")
    for n_classes, hidden in ((0, (128, 128)), (2, (128, 128)), (3, (256, 256))):
        context = FitContext(n_classes, [], 4, grouped=False, own_folds=False, n_jobs=1, seed=0)
        assert context.make_member(entry, 1).hidden == hidden


def test_epochs_that_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    fake = SimpleNamespace(perf_counter=lambda: clock.now)
    monkeypatch.setattr("committee.automatic.time_limits.time", fake)

    class Timed(TrainingSet):
        def fit_member(self, member: Any, rows: Any, params: Any) -> Any:
            clock.now += 3.0 + 2.0 * member.n_epochs
            return member

    entry = next(e for e in PORTFOLIO if e.name == "long network")
    network, training = NeuralMember(False, n_epochs=48), Timed(X, VALUES)
    pilots = 3.0 + 2.0 + 3.0 + 6.0
    for n_fits, n_jobs, left, wanted in (
        (10, 1, 1e9, 48),
        (10, 2, 5 * (3.0 + 96.0), 48),
        (9, 2, 5 * (3.0 + 96.0) - 1.0, 47),
        (10, 2, 5 * (3.0 + 20.0), 10),
        (10, 1, 1.0, 1),
    ):
        clock.now = 0.0
        assert afford_epochs(network, training, {}, n_fits, n_jobs, pilots + left) == wanted
    for left, possible in ((pilots + 150.0, True), (pilots + 149.0, False), (-1.0, False)):
        clock.now = 0.0
        assert has_time(entry, network, training, {}, 10, [0.0, 0.5], left) == possible
