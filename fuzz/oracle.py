"""What may come of a case: an error that is a sentence of the library's own, or answers that keep the contracts."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import committee
from committee.exceptions import CommitteeError, NotFittedError
from fuzz.draws import show_short
from fuzz.libraries import Skipped

__all__ = [
    "Finding",
    "Refusal",
    "attempt",
    "check_answers",
    "compare_answers",
    "copy_model",
    "describe",
    "expect",
    "guard",
]

_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-models-")
_LONGEST = 4000
#: Estimators whose predictions are averages of targets, which lie between the least and the largest of them.
AVERAGES = ("DecisionTreeRegressor", "ExtraTreeRegressor", "RandomForestRegressor", "ExtraTreesRegressor")
METHODS = ("predict", "predict_proba", "decision_function", "score_samples", "apply", "transform")


class Finding(Exception):
    """A case that breaks a promise."""


class Refusal(Exception):
    """A case that the library answered with a sentence of its own."""


def expect(holds: object, promise: str, *details: object) -> None:
    """Find fault where a promise does not hold."""
    if not holds:
        raise Finding(" | ".join([promise, *map(show_short, details)]))


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Warnings that are blamed on the library are errors; others, and what is printed, are not shown."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", module="committee")
        yield


def attempt(work: Callable[[], Any]) -> Any:
    """What the work gives; its error becomes a refusal, or a finding if it is none that the library may raise."""
    try:
        with guard():
            return work()
    except (CommitteeError, NotFittedError) as error:
        _check_sentence(error)
        raise Refusal(f"{type(error).__name__}: {error}") from None
    except MemoryError:
        raise Refusal("MemoryError") from None
    except (Finding, Refusal, Skipped):
        raise
    except Exception as error:
        if _is_foreign(error):
            raise Refusal(f"of a part of the user's: {error!r}") from None
        raise Finding(f"raised {type(error).__name__}: {error}\n{describe(error)}") from error


def describe(error: BaseException) -> str:
    """The last places of a traceback."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return "\n".join(
        f"  {frame.filename.partition('site-packages/')[2] or frame.filename}:{frame.lineno} {frame.name}"
        for frame in frames
    )


def _is_foreign(error: Exception) -> bool:
    """Whether it was raised in a part that the case itself brought: its functions, or members of scikit-learn."""
    frames = traceback.extract_tb(error.__traceback__)
    if "fuzz" in Path(frames[-1].filename).parts and frames[-1].filename != __file__:
        return len(frames) > 3 and any("committee" in Path(f.filename).parts for f in frames)
    members = ("linear_model", "model_selection", "feature_extraction")
    # What another process raised has its frames in the cause, as text.
    places = [frame.filename.replace("\\", "/") for frame in frames] + [str(error.__cause__ or "")]
    return isinstance(error, ValueError | TypeError | IndexError) and any(
        f"sklearn/{member}/" in place for place in places for member in members
    )


def _check_sentence(error: Exception) -> None:
    text = str(error)
    expect(text.strip(), "an error says something", error)
    expect(len(text) < _LONGEST, "an error is short", len(text), text)
    expect(" object at 0x" not in text, "an error shows no address of an object", text)
    # Names of columns are listed in the way of scikit-learn, whose own tests ask for it.
    listed = text.startswith("The feature names should match")
    expect(listed or text.rstrip()[-1] in ".?!)'\"`:", "an error ends as a sentence does", text)


# --- answers -----------------------------------------------------------------------------------------------------


def ask(model: Any, X: Any) -> dict[str, Any]:
    """All answers of a model about the rows, as arrays."""
    answers = {}
    for name in METHODS:
        if hasattr(model, name):
            answer = attempt(lambda name=name: getattr(model, name)(X))
            if isinstance(answer, list):  # several outputs, each of which has its own probabilities
                answer = np.concatenate(answer, axis=1) / len(answer)
            answers[name] = answer.toarray() if hasattr(answer, "toarray") else np.asarray(answer)
    return answers


def check_answers(name: str, model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Answers about the rows, checked one by one; y is the target of the fit where its range is known, else None."""
    answers = ask(model, X)
    proba = answers.get("predict_proba")
    if proba is not None and proba.dtype.kind == "f" and proba.ndim == 2:
        expect(np.isfinite(proba).all(), "probabilities are finite", proba)
        expect(((proba >= 0) & (proba <= 1)).all(), "probabilities lie between 0 and 1", proba)
        if name != "BoosTexterClassifier":
            expect(np.allclose(proba.sum(axis=1), 1, atol=1e-6), "probabilities sum to one", proba.sum(axis=1))
    found = answers.get("predict")
    if found is not None and found.dtype.kind == "f" and y is not None:
        expect(np.isfinite(found).all(), "predictions are finite where the target is", found)
        if name in AVERAGES and len(found):
            values = np.asarray(y, dtype=float)
            slack = 1e-9 * max(np.abs(values).max(), 1e-300)
            inside = (found >= values.min() - slack) & (found <= values.max() + slack)
            expect(inside.all(), "averages lie within the targets", found, (values.min(), values.max()))
    return answers


def compare_answers(answers: dict[str, Any], others: dict[str, Any], promise: str, *, exact: bool = True) -> None:
    """Find fault where answers differ."""
    expect(answers.keys() == others.keys(), promise, sorted(answers), sorted(others))
    for name, answer in answers.items():
        other = others[name]
        expect(answer.shape == other.shape, promise, name, answer.shape, other.shape)
        if exact or answer.dtype.kind not in "f":
            same = answer.tolist() == other.tolist() if answer.dtype == object else answer.tobytes() == other.tobytes()
        else:
            same = np.allclose(answer, other, rtol=1e-9, atol=1e-12, equal_nan=True)
        expect(same or _both_nan(answer, other), promise, name, answer, other)


def _both_nan(answer: Any, other: Any) -> bool:
    return answer.dtype.kind == "f" and bool(np.array_equal(answer, other, equal_nan=True))


def copy_model(model: Any, way: str) -> Any:
    """The model after a way there and back: through a file, a pickle, or a copy."""
    if way == "pickle":
        return pickle.loads(pickle.dumps(model))
    if way == "deepcopy":
        return copy.deepcopy(model)
    path = Path(_FOLDER.name, "model")
    committee.save(model, path)
    return committee.load(path, mmap=way == "mapped")
