"""The fuzzer that is guided by coverage: kept inputs, and calls of the compiled module with changed arguments.

`make fuzz-core` runs both under sanitizers. Here it is the module as it is installed, and a few hundred cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import committee
from committee import _core
from fuzz.border import CORPUS, record_sessions, run_case
from fuzz.border import read_corpus as read_cases
from fuzz.changes import change_step
from fuzz.guided import READERS, pack_inputs, read_corpus, unpack_inputs
from fuzz.recording import Reference, find_call, record, thaw

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))


@pytest.fixture(scope="module")
def sessions() -> dict[str, list[Any]]:
    return record_sessions()


def test_inputs_are_packed_and_unpacked() -> None:
    inputs = [b"", b"a", bytes(range(256))]
    assert unpack_inputs(pack_inputs(inputs)) == inputs


@pytest.mark.parametrize("name", READERS)
def test_kept_inputs_are_short_and_different(name: str) -> None:
    inputs = read_corpus(name)
    assert len(inputs) == len(set(inputs)) > 20
    assert sum(map(len, inputs)) <= 60_000


def test_a_recorded_session_gives_the_same_trees() -> None:
    forest = committee.RandomForestClassifier(3, random_state=0, n_jobs=1)
    steps = record(lambda: forest.fit(X, X[:, 0] > 0))
    results: dict[int, Any] = {}
    for number, step in enumerate(steps):
        results[number] = find_call(step.name)(*thaw(step.args, results), **thaw(step.kwargs, results))
    grown = [own for made in results.values() for own in (made if isinstance(made, tuple) else (made,))]
    trees = [one for one in grown if isinstance(one, _core.Trees)]
    assert any(one.nodes.tobytes() == forest._trees.nodes.tobytes() for one in trees)
    assert type(_core.Trees).__name__.startswith("nb_type")  # nothing of the recorder is left
    assert type(_core.grow_forest).__name__ == "nb_func"


def test_a_change_is_made_of_its_numbers(sessions: dict[str, list[Any]]) -> None:
    step = next(step for step in sessions["forest"] if step.name == "grow_forest")
    others = [Reference(0, -1, "BinMapper")]
    made = {repr(change_step(step, place, 3, others)) for place in range(40)}
    assert made == {repr(change_step(step, place, 3, others)) for place in range(40)}
    assert len(made) > 10


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "AdaBoost", "isolation", "words", "sparse"])
def test_arrays_of_other_lengths_are_refused_or_answered(sessions: dict[str, list[Any]], name: str) -> None:
    """What says nothing is raised; whether memory beyond an array is read is for the sanitizer to see."""
    steps, counts = sessions[name], {"calls": 0, "refused": 0}
    n_changed = 0
    for number, step in enumerate(steps):
        for place, value in enumerate(step.args):
            if not isinstance(value, np.ndarray) or not value.ndim:
                continue
            for length in (0, len(value) - 1, len(value) + 1):
                rows = np.take(value, np.arange(length) % len(value), axis=0) if len(value) else value
                changed = step._replace(args=(*step.args[:place], rows, *step.args[place + 1 :]))
                run_case([*steps[:number], changed], [], counts)
                n_changed += 1
    assert n_changed > 3
    assert 3 < counts["refused"] <= n_changed * len(steps)


def test_kept_cases_can_be_repeated(sessions: dict[str, list[Any]]) -> None:
    cases = read_cases()
    assert CORPUS.exists() == bool(cases)
    assert {name for name, _ in cases} <= sessions.keys()
