"""Files of every version of the format are read for ever, and their models answer what they answered."""

import numpy as np
import pytest

import committee
from committee.io.container import FORMAT_VERSION
from tests.io.write_files import FOLDER, MODELS, read_rows

FILES = sorted(FOLDER.glob("v*/*.committee"))


def test_no_file_and_no_version_is_lost():
    assert {path.parent.name for path in FILES} == {f"v{k + 1}" for k in range(FORMAT_VERSION)}
    assert {path.stem for path in FILES if path.parent.name == "v1"} >= MODELS.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
@pytest.mark.parametrize("mmap", [True, False], ids=["mapped", "copied"])
def test_old_files_answer_as_they_did(path, mmap):
    model = committee.load(path, mmap=mmap)
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as stored:
        X = read_rows(stored)
        answers = {key.removeprefix("answer "): stored[key] for key in stored if key.startswith("answer ")}
    assert "predict" in answers
    for name, expected in answers.items():
        answer = getattr(model, name)(X)
        answer = answer[0] if isinstance(answer, tuple) else answer
        answer = list(answer) if hasattr(answer, "__next__") else answer
        answer = np.asarray(answer.toarray() if hasattr(answer, "toarray") else answer)
        if expected.dtype.kind == "f":
            # Exponentials of another machine may differ in their last bits.
            np.testing.assert_allclose(answer, expected, rtol=1e-12)
        elif name in ("apply", "decision_path"):
            assert_equal_but_for_numbers(answer, expected)
        else:
            np.testing.assert_array_equal(answer, expected)


def assert_equal_but_for_numbers(answer, expected):
    """Nodes were numbered level by level once and are numbered depth-first now: each old number has one new one."""
    assert answer.shape == expected.shape
    if set(np.unique(expected)) <= {0, 1}:  # a column for each node of the paths
        np.testing.assert_array_equal(sorted(answer.T.tolist()), sorted(expected.T.tolist()))
        return
    trees = zip(np.atleast_2d(answer.T), np.atleast_2d(expected.T), strict=True)
    for own, old in trees:
        pairs = set(zip(own.tolist(), old.tolist(), strict=True))
        assert len(pairs) == len(set(own.tolist())) == len(set(old.tolist()))
