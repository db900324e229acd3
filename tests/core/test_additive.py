"""The kernel of additive models against its twin in NumPy."""

import numpy as np
import pytest

from committee import _core
from committee.losses import LossFunction
from tests.naive import additive as naive

N_ROWS = 400


def make_table(seed=0):
    """Numbers, one with missing values, and a category; bins in codes as the twin takes them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N_ROWS, 4)), 1)
    X[rng.random(N_ROWS) < 0.1, 1] = np.nan
    X[:, 3] = rng.integers(0, 7, N_ROWS)
    n_levels = np.array([0, 0, 0, 7], dtype=np.uint32)
    bins = _core.BinMapper.fit(X, None, n_levels, 32, 1).transform(X, 1)
    codes = [np.minimum(bins.column(f), bins.mapper.n_bins[f]).astype(int) for f in range(4)]
    signal = np.where(np.isnan(X[:, 1]), 1.0, X[:, 0] * (X[:, 2] > 0)) + 0.5 * (X[:, 3] % 3)
    return X, bins, codes, signal + 0.3 * rng.normal(size=N_ROWS)


def make_params(**values):
    params = _core.AdditiveParams()
    for name, value in {"learning_rate": 0.3, "greedy_cycles": 0, "greedy_pair_cycles": 0, **values}.items():
        setattr(params, name, value)
    return params


def start(bins, loss, y, weights, params, held_out=None):
    held_out = np.zeros((1, len(y))) if held_out is None else held_out
    return _core.AdditiveBoosting(bins, loss.name, loss.parameter, loss.n_scores, y, weights, held_out, params)


def find_largest_step(name):
    return {info.name: info.largest_step for info in _core.describe_losses()}[name]


def make_target(y, name):
    made = {
        "squared_error": y,
        "logistic": (y > 0.7).astype(float),
        "poisson": np.round(np.abs(y)),
        "softmax": np.digitize(y, [0.2, 1.0]).astype(float),
    }
    return made[name], LossFunction(name, np.nan, 3) if name == "softmax" else LossFunction(name)


SCHEDULES = {
    "all terms": {},
    "greedy": {"greedy_cycles": 3, "greedy_pair_cycles": 2},
    "smooth": {"smooth_cycles": 4, "smooth_pair_cycles": 3, "smooth_rate": 0.6},
    "smooth, then greedy": {"smooth_cycles": 2, "smooth_pair_cycles": 2, "greedy_cycles": 4, "greedy_pair_cycles": 4},
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", ["squared_error", "logistic", "poisson", "softmax"])
@pytest.mark.parametrize("weighted", [False, True])
def test_features_follow_the_twin(name, weighted, schedule):
    _, bins, codes, y = make_table()
    y, loss = make_target(y, name)
    weights = np.random.default_rng(1).integers(1, 4, N_ROWS).astype(float) if weighted else np.ones(N_ROWS)
    params = make_params(max_leaves=3, min_samples_leaf=5, reg_lambda=0.5, **SCHEDULES[schedule])
    made = start(bins, loss, y, weights, params)
    made.start_features(np.arange(4, dtype=np.uint32), np.array([0, 0, 1, 0], dtype=np.int32))
    made.run(12, 1)
    sizes = [int(n) + 1 for n in bins.mapper.n_bins]
    options = {"signs": {2: 1}, "categorical": {3: True}, "largest_step": find_largest_step(name)}
    tables, _ = naive.boost(codes, sizes, loss, y, weights, params, 12, **options)
    for f in range(4):
        found = made.tables(f)[0]
        found = np.column_stack([found[:, : sizes[f] - 1], found[:, -1]])
        np.testing.assert_allclose(found, tables[f], rtol=0, atol=1e-9)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", ["squared_error", "softmax"])
def test_pairs_follow_the_twin(name, schedule):
    _, bins, codes, y = make_table()
    y, loss = make_target(y, name)
    params = make_params(min_samples_leaf=5, **SCHEDULES[schedule])
    made = start(bins, loss, y, np.zeros(0), params)
    made.start_features(np.zeros(0, np.uint32), np.zeros(0, np.int32))
    cells = [np.append(np.arange(int(n)) // 5, int(n) // 5 + 1).astype(np.uint8) for n in bins.mapper.n_bins]
    made.set_cells(np.cumsum([0, *map(len, cells)]).astype(np.uint64), np.concatenate(cells))
    pairs = np.array([[0, 2], [1, 3]], dtype=np.uint32)
    made.start_pairs(pairs)
    made.run(8, 1)
    sizes = [(int(cells[a].max()) + 1, int(cells[b].max()) + 1) for a, b in pairs]
    slots = [
        cells[a][codes[a]].astype(int) * size[1] + cells[b][codes[b]] for (a, b), size in zip(pairs, sizes, strict=True)
    ]
    largest = find_largest_step(name)
    tables, _ = naive.boost(slots, sizes, loss, y, np.ones(N_ROWS), params, 8, largest_step=largest)
    for t in range(2):
        np.testing.assert_allclose(made.tables(t)[0], tables[t], rtol=0, atol=1e-9)


def test_finer_bins_follow_the_twin():
    X, bins, _, y = make_table()
    loss, params = LossFunction("squared_error"), make_params(min_samples_leaf=2)
    distinct, fine = np.unique(X[:, 2], return_inverse=True)
    made = start(bins, loss, y, np.zeros(0), params)
    made.set_bins(2, len(distinct), fine.astype(np.uint16))
    made.start_features(np.array([2], np.uint32), np.zeros(1, np.int32))
    made.run(6, 1)
    assert len(distinct) > bins.mapper.n_bins[2]
    tables, _ = naive.boost([fine], [len(distinct) + 1], loss, y, np.ones(N_ROWS), params, 6)
    np.testing.assert_allclose(made.tables(0)[0], tables[0], rtol=0, atol=1e-9)
    for feature, n_bins, given in ((3, 9, fine % 9), (0, 9, fine), (0, 500, fine[:3]), (9, 500, fine)):
        with pytest.raises(ValueError, match=r"bin|unknown feature"):
            made.set_bins(feature, n_bins, given.astype(np.uint16))


def test_the_pair_that_acts_together_is_ranked_first():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(2000, 5))
    y = X[:, 0] + np.sign(X[:, 1] * X[:, 3]) + 0.1 * rng.normal(size=2000)
    bins = _core.BinMapper.fit(X, None, np.zeros(5, np.uint32), 64, 1).transform(X, 1)
    made = start(bins, LossFunction("squared_error"), y, np.zeros(0), make_params())
    made.start_features(np.arange(5, dtype=np.uint32), np.zeros(5, np.int32))
    made.run(20, 1)
    cells = [np.append(np.arange(int(n)) // 4, int(n) // 4 + 1).astype(np.uint8) for n in bins.mapper.n_bins]
    made.set_cells(np.cumsum([0, *map(len, cells)]).astype(np.uint64), np.concatenate(cells))
    pairs = np.array([[a, b] for a in range(5) for b in range(a + 1, 5)], dtype=np.uint32)
    gains = made.rank_pairs(pairs, 2)
    assert pairs[gains.argmax()].tolist() == [1, 3]
    assert gains.max() > 20 * np.sort(gains)[-2]


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_of_pairs_are_those_of_the_twin(weighted):
    # Columns 0 and 1 have just enough rows on the smaller side for two leaves, and one too few.
    rng, least = np.random.default_rng(4), 4
    X = np.column_stack([np.arange(40) < 8, np.arange(40) < 7, np.arange(40) % 2, rng.integers(0, 4, 40)]).astype(float)
    y, counts = rng.normal(size=40), np.ones(40)
    if weighted:
        counts = np.where(np.arange(40) == 39, 3.0, 1.0)
    bins = _core.BinMapper.fit(X, None, np.zeros(4, np.uint32), 16, 1).transform(X, 1)
    params = make_params(min_samples_leaf=least, reg_lambda=0.0)
    made = start(bins, LossFunction("squared_error"), y, counts if weighted else np.zeros(0), params)
    made.start_features(np.arange(4, dtype=np.uint32), np.zeros(4, np.int32))
    cells = [np.arange(int(n) + 1).astype(np.uint8) for n in bins.mapper.n_bins]
    made.set_cells(np.cumsum([0, *map(len, cells)]).astype(np.uint64), np.concatenate(cells))
    pairs = np.array([[a, b] for a in range(4) for b in range(a + 1, 4)], dtype=np.uint32)
    rows = np.repeat(np.arange(40), counts.astype(int))
    codes, gradients = [bins.column(f)[rows] for f in range(4)], y[rows].mean() - y[rows]
    expected = [naive.find_pair_gain(codes[a], codes[b], gradients, least) for a, b in pairs]
    np.testing.assert_allclose(made.rank_pairs(pairs, 1), expected, rtol=1e-6)
    assert expected[1] > 0.0
    assert expected[3] == 0.0


def start_with_pairs(name, held_out):
    """A fit of features, before that of pairs, and the slot of each row in each pair."""
    _, bins, codes, y = make_table()
    y, loss = make_target(y, name)
    params = make_params(min_samples_leaf=5, patience=1000, learning_rate=0.05)
    made = start(bins, loss, y, np.zeros(0), params, held_out)
    made.start_features(np.arange(4, dtype=np.uint32), np.zeros(4, np.int32))
    made.run(3, 1)
    cells = [np.append(np.arange(int(n)) // 5, int(n) // 5 + 1).astype(np.uint8) for n in bins.mapper.n_bins]
    made.set_cells(np.cumsum([0, *map(len, cells)]).astype(np.uint64), np.concatenate(cells))
    pairs = np.array([[0, 2], [1, 3], [0, 1]], dtype=np.uint32)
    slots = [cells[a][codes[a]].astype(int) * (int(cells[b].max()) + 1) + cells[b][codes[b]] for a, b in pairs]
    rows = [np.where(codes[f] == bins.mapper.n_bins[f], -1, codes[f]) for f in range(4)]
    scores = np.array(made.baselines)[:, None, :] + sum(
        made.tables(f)[:, :, rows[f]].transpose(0, 2, 1) for f in range(4)
    )
    return made, pairs, slots, (y, loss, scores)


@pytest.mark.parametrize("name", ["squared_error", "logistic", "softmax"])
def test_terms_weigh_what_the_twin_says(name):
    held_out = (np.random.default_rng(6).random((2, N_ROWS)) < 0.3).astype(float)
    made, pairs, slots, (y, loss, scores) = start_with_pairs(name, held_out)
    made.start_pairs(pairs)
    made.run(2, 1)
    assert made.best_cycles == [2, 2]  # so that the tables at hand are those of the latest cycle
    found = made.weigh_terms(2)
    for bag in range(2):
        tables = [made.tables(t)[bag] for t in range(3)]
        expected = naive.weigh_terms(slots, tables, scores[bag], loss, y, held_out[bag])
        np.testing.assert_allclose(found[bag], expected, rtol=1e-6, atol=1e-13)


def test_weighing_changes_nothing_and_pairs_can_begin_again():
    held_out = (np.random.default_rng(7).random((2, N_ROWS)) < 0.3).astype(float)
    made, pairs, *_ = start_with_pairs("logistic", held_out)
    other, *_ = start_with_pairs("logistic", held_out)
    for one, first in ((made, pairs), (other, pairs[1:])):
        one.start_pairs(first)
        one.run(4, 1)
        one.weigh_terms(1)
        one.weigh_terms(1)
    other.start_pairs(pairs)
    other.run(7, 1)
    made.run(3, 1)
    assert made.losses(0) == other.losses(0)
    for t in range(3):
        assert made.tables(t).tobytes() == other.tables(t).tobytes()


def test_terms_are_weighed_by_rows_held_out():
    made, pairs, *_ = start_with_pairs("squared_error", None)
    made.start_pairs(pairs)
    with pytest.raises(ValueError, match="rows held out"):
        made.weigh_terms(1)
    with pytest.raises(ValueError, match="before their terms begin"):
        made.rank_pairs(pairs, 1)
    with pytest.raises(ValueError, match="there must be pairs"):
        made.start_pairs(pairs[:0])


def test_bags_do_not_depend_on_threads_or_on_one_another():
    _, bins, _, y = make_table()
    held_out = (np.random.default_rng(0).random((3, N_ROWS)) < 0.2).astype(float)
    found = []
    for rows, jobs in ((held_out, 1), (held_out, 3), (held_out[1:2], 1)):
        made = start(bins, LossFunction("squared_error"), y, np.zeros(0), make_params(patience=5), rows)
        made.start_features(np.arange(4, dtype=np.uint32), np.zeros(4, np.int32))
        while made.run(7, jobs):
            pass
        found.append([made.tables(f) for f in range(4)])
        assert len(made.losses(0)) >= made.best_cycles[0]
    for f in range(4):
        assert found[0][f].tobytes() == found[1][f].tobytes()
        assert found[0][f][1].tobytes() == found[2][f][0].tobytes()


def test_smooth_cycles_end_when_the_loss_no_longer_falls():
    _, bins, _, _ = make_table()
    rng = np.random.default_rng(5)
    noise, held_out = rng.normal(size=N_ROWS), np.zeros((1, N_ROWS))
    held_out[0, rng.permutation(N_ROWS)[:150]] = 1.0

    def run(n_smooth):
        params = make_params(smooth_cycles=n_smooth, patience=1000, min_samples_leaf=2)
        made = start(bins, LossFunction("squared_error"), noise, np.zeros(0), params, held_out)
        made.start_features(np.arange(4, dtype=np.uint32), np.zeros(4, np.int32))
        made.run(30, 1)
        return made.losses(0)

    curves = {n: run(n) for n in (30, 2, 3, 4, 5, 6, 7, 8, 9, 10)}
    smooth = curves[30]
    baseline = noise[held_out[0] == 0].mean()
    best = [((noise[held_out[0] == 1] - baseline) ** 2).mean() / 2, *smooth]
    end = next(n for n in range(3, 30) if n - int(np.argmin(best[: n + 1])) >= 3)
    assert end <= 10
    assert curves[end] == smooth
    assert curves[end - 1] != smooth


def test_rows_that_are_held_out_teach_nothing():
    _, bins, _, y = make_table()
    out = np.zeros((1, N_ROWS))
    out[0, :50] = 1
    tables = []
    for other in (y, np.where(np.arange(N_ROWS) < 50, 1e3, y)):
        made = start(bins, LossFunction("squared_error"), other, np.zeros(0), make_params(patience=1000), out)
        made.start_features(np.arange(4, dtype=np.uint32), np.zeros(4, np.int32))
        made.run(1, 1)
        tables.append((made.losses(0), made.baselines))
    assert tables[0][1] == tables[1][1]
    assert tables[0][0] != tables[1][0]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"held_out": np.ones((1, N_ROWS))}, "rows to learn from"),
        ({"held_out": np.zeros((1, 3))}, "shape"),
        ({"held_out": np.full((1, N_ROWS), 2.0)}, "more often than it is there"),
        ({"params": make_params(max_leaves=1)}, "out of range"),
        ({"y": np.zeros(3)}, "value for each row"),
    ],
)
def test_what_does_not_fit_is_refused(change, sentence):
    _, bins, _, y = make_table()
    given = {"y": y, "params": make_params(), "held_out": None, **change}
    with pytest.raises(ValueError, match=sentence):
        start(bins, LossFunction("squared_error"), given["y"], np.zeros(0), given["params"], given["held_out"])


def test_terms_must_be_there():
    _, bins, _, y = make_table()
    made = start(bins, LossFunction("squared_error"), y, np.zeros(0), make_params())
    with pytest.raises(ValueError, match="unknown feature"):
        made.start_features(np.array([9], np.uint32), np.zeros(1, np.int32))
    made.start_features(np.zeros(0, np.uint32), np.zeros(0, np.int32))
    with pytest.raises(ValueError, match="cells"):
        made.start_pairs(np.array([[0, 1]], np.uint32))
    with pytest.raises(IndexError):
        made.tables(0)
