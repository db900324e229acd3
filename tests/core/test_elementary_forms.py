"""Loops over exponentials and logarithms give the bytes of the twins, of a row alone, and of all instructions."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from committee import _core, losses
from committee._core import testing
from tests.core.test_losses import draw
from tests.naive import elementary

FORMS = ("plain", "avx2", "avx512")
TWINS: dict[str, tuple[Callable[..., Any], Callable[[float], float]]] = {
    "exponentials": (_core.find_exponentials, elementary.find_exponential),
    "logarithms": (_core.find_logs, elementary.find_log),
}
TINY, ROOT = 2.0**-1022, np.sqrt(0.5)
ENDS = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, TINY, np.nextafter(TINY, 0.0), 1.0, -1.0),
        *(708.0, -708.0, 708.5, -708.5, 709.0, 709.78, 709.79, -745.1, -745.2, 800.0, -800.0, 1e308, -1e308),
        *(ROOT, np.nextafter(ROOT, 0.0), np.nextafter(ROOT, 1.0), np.finfo(float).max),
    ]
)
N_LEVELS = 4


@pytest.fixture(params=FORMS, autouse=True)
def instructions(request: pytest.FixtureRequest) -> Iterator[str]:
    testing.limit_instructions(request.param)
    yield request.param
    testing.limit_instructions(FORMS[-1])


def find_plain(call: Callable[[], Any], instructions: str) -> Any:
    testing.limit_instructions("plain")
    found = call()
    testing.limit_instructions(instructions)
    return found


def draw_bits(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, n, dtype=np.uint64).view(np.float64)


def draw_numbers() -> np.ndarray:
    """Numbers of all sizes, and blocks in which one of them is special."""
    rng = np.random.default_rng(1)
    usual = np.concatenate([rng.uniform(-30.0, 30.0, 640), np.exp(rng.uniform(-700.0, 700.0, 320))])
    usual[rng.choice(len(usual), len(ENDS), replace=False)] = ENDS
    return np.concatenate(
        [draw_bits(1000), usual, rng.uniform(-750.0, 720.0, 300), rng.uniform(0.0, 1e-310, 100), ENDS]
    )


def assert_equal_bits(found: np.ndarray, expected: list[float]) -> None:
    wanted = np.array(expected, dtype=np.float64)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(found.view(np.uint64)[~np.isnan(wanted)], wanted.view(np.uint64)[~np.isnan(wanted)])


@pytest.mark.parametrize("name", TWINS)
def test_bits_are_those_of_the_naive_twins(name: str) -> None:
    function, twin = TWINS[name]
    numbers = draw_numbers()
    assert_equal_bits(function(numbers), [twin(x) for x in numbers.tolist()])


@pytest.mark.parametrize("name", TWINS)
def test_every_length_and_every_place(name: str, instructions: str) -> None:
    function, twin = TWINS[name]
    numbers = np.concatenate([np.linspace(0.1, 40.0, 150), ENDS])
    expected = np.array([twin(x) for x in numbers.tolist()])
    for n in [*range(35), 63, 64, 65, 71, 72, 127, 128, 129]:
        for begin in (0, 1, 2, 3, 5, 7, len(numbers) - n):
            assert_equal_bits(function(numbers[begin : begin + n]), expected[begin : begin + n].tolist())
    numbers = draw_numbers()
    plain = find_plain(lambda: function(numbers).tobytes(), instructions)
    assert function(numbers).tobytes() == plain  # the bits of NaN too


def draw_scores(n_rows: int, n_scores: int) -> np.ndarray:
    rng = np.random.default_rng(n_rows)
    scores = rng.normal(scale=3.0, size=(n_rows, n_scores))
    far = np.array([0.0, -0.0, 40.0, -40.0, 709.5, -709.5, 1e3, -1e3, 1e-320, 1e300])
    scores.ravel()[::5] = rng.choice(far, len(scores.ravel()[::5]))
    return np.asfortranarray(scores)


def find_all(loss: Any, y: np.ndarray, scores: np.ndarray) -> list[np.ndarray]:
    g, h = loss.find_gradients(y, scores)
    return [g, h, loss.find_values(y, scores)[:, None], loss.find_means(scores)]


@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 255, 256, 257, 600])
@pytest.mark.parametrize("name", losses.list_losses())
def test_losses(name: str, n_rows: int, instructions: str) -> None:
    """A row has the bytes that it has alone, which is by the formulas of one number."""
    n_scores = 3 if name == "softmax" else 1
    y, _ = draw(name, n_rows, seed=n_rows)
    scores, loss = draw_scores(n_rows, n_scores), _core.Loss.make(name, np.nan, n_scores)
    with np.errstate(all="ignore"):
        found = find_all(loss, y, scores)
        for i in range(0, n_rows, 1 + n_rows // 40):
            alone = find_all(loss, y[i : i + 1], np.asfortranarray(scores[i : i + 1]))
            for together, one in zip(found, alone, strict=True):
                assert together[i].tobytes() == one[0].tobytes()
    plain = find_plain(lambda: b"".join(a.tobytes() for a in find_all(loss, y, scores)), instructions)
    assert b"".join(a.tobytes() for a in found) == plain


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["normal", "lognormal", "negative_binomial"])
def test_distributions(name: str, weighted: bool, instructions: str) -> None:
    rng = np.random.default_rng(4)
    for n in (1, 5, 8, 9, 255, 256, 257, 4100):
        y = np.floor(rng.exponential(9.0, n)) + (name == "lognormal")
        weights = (np.arange(n) % 3 != 1).astype(float) if weighted else np.empty(0)
        scores = np.clip(draw_scores(n, 2), -400.0, 400.0)
        loss = _core.make_distribution_loss(name, y, weights)

        def find(loss: Any = loss, scores: np.ndarray = scores) -> list[bytes]:
            return [part.tobytes() for part in (*loss.find_gradients(scores, 1), np.array(loss.measure(scores, 1)))]

        assert find() == find_plain(find, instructions)
        found = loss.find_gradients(scores, 1)
        for i in range(0, n, 1 + n // 20):
            loss_alone = _core.make_distribution_loss(name, y[i : i + 1], weights[i : i + 1])
            alone = loss_alone.find_gradients(np.asfortranarray(scores[i : i + 1]), 1)
            for together, one in zip(found, alone, strict=True):
                assert together[i].tobytes() == one[0].tobytes()


@pytest.mark.parametrize("weighted", [False, True])
def test_ordered_levels(weighted: bool, instructions: str) -> None:
    rng = np.random.default_rng(5)
    thresholds = np.array([-1.0, 0.25, 0.2500001])
    for n in (4, 9, 33, 511 * N_LEVELS, 513 * N_LEVELS, 2500):
        levels = np.arange(n, dtype=np.uint32) % N_LEVELS
        scores = np.clip(draw_scores(n, 1)[:, 0], -1e3, 1e3)
        weights = rng.random(n) + 0.1 if weighted else np.empty(0)
        rows = _core.LogisticLevels(levels, weights, N_LEVELS)

        def find(rows: Any = rows, scores: np.ndarray = scores) -> list[bytes]:
            terms = [*rows.sum_terms(scores, thresholds, 1), *rows.find_gradients(scores, thresholds, 1)]
            return [np.asarray(part).tobytes() for part in [rows.sum_losses(scores, thresholds, 1), *terms]]

        assert find() == find_plain(find, instructions)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", ["lambdarank", "pairwise", "listwise"])
def test_ranking(name: str, normalize: bool, instructions: str) -> None:
    """Queries of all lengths, with ties and with far scores."""
    lengths = np.array([*range(1, 41), 64, 100, 257])
    offsets, n = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64), int(lengths.sum())
    rng = np.random.default_rng(6)
    rows, labels = rng.permutation(n).astype(np.uint32), rng.integers(0, 4, n).astype(float)
    scores = np.round(np.clip(draw_scores(n, 1), -1e3, 1e3), 1)
    given = (rows, offsets, labels, 2.0**labels - 1.0, np.empty(0), 1.3, 30, normalize)
    loss = _core.make_rank_loss(name, *given)

    def find() -> list[bytes]:
        return [part.tobytes() for part in (*loss.find_gradients(scores, 1), np.array(loss.measure(scores, 1)))]

    assert find() == find_plain(find, instructions)
