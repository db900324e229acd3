"""Python code that makes a state: its points, its model, its predictions after the round that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from committee.lab.models import ModelSpec, specify_model

if TYPE_CHECKING:
    from committee.lab.fits import RoundsFit
    from committee.lab.state import LabState

__all__ = ["fill_snippet", "write_snippet"]

# Stand for the round that is shown and for its index; the page fills them in when it moves to another round.
_ROUND, _INDEX = "@round@", "@index@"


def fill_snippet(snippet: str, number: int) -> str:
    """The code of one round.

    Parameters
    ----------
    snippet : str
        From `write_snippet`.
    number : int
        The round, counted from 1.

    Returns
    -------
    str
    """
    return snippet.replace(_ROUND, str(number)).replace(_INDEX, str(number - 1))


def write_snippet(state: LabState, fit: RoundsFit) -> str:
    """The code of a state, for `fill_snippet`.

    Parameters
    ----------
    state : LabState
        The state.
    fit : RoundsFit
        Its fit.

    Returns
    -------
    str
        Lines of Python; ``training_error`` and ``test_error`` are those on the page.
    """
    spec = specify_model(state)
    own = [line for line in fit.sample.code if line.startswith(("from ", "import "))]
    rest = [line for line in fit.sample.code if line not in own]
    while not rest[0]:
        rest = rest[1:]
    gap = ["", ""] if rest[0].startswith("def ") else [""]
    lines = [*_write_imports(spec, own), *gap, *rest, "", *_write_model(state, spec), "model.fit(X, y)", ""]
    return "\n".join([*lines, *_write_errors(state)]) + "\n"


def _write_imports(spec: ModelSpec, own: list[str]) -> list[str]:
    modules: dict[str, list[str]] = {}
    for module, name in sorted(spec.list_imports()):
        modules.setdefault(module, []).append(name)
    ours = modules.pop("committee")
    theirs = [f"from {module} import {', '.join(names)}" for module, names in modules.items()]
    return ["import numpy as np", *sorted({*own, *theirs}), "", f"from committee import {', '.join(ours)}"]


def _write_model(state: LabState, spec: ModelSpec) -> list[str]:
    if state.method not in ("voting", "stacking"):
        return [f"model = {spec.write()}"]
    _, members = spec.params[0]
    assert isinstance(members, tuple)
    listed = [f'    ("{name}", {member.write()}),' for name, member in members]
    others = ModelSpec(spec.module, spec.name, spec.params[1:]).write().partition("(")[2]
    first = f"estimators=members[:{_ROUND}]" + (", " if len(spec.params) > 1 else "")
    return ["members = [", *listed, "]", f"model = {spec.name}({first}{others}"]


def _write_errors(state: LabState) -> list[str]:
    is_class = state.task == "classification"
    if state.method in ("voting", "stacking"):
        call = "model.predict_proba(rows)" if is_class else "model.predict(rows)"
    elif state.method in ("adaboost", "boosting"):
        method = "staged_predict_proba" if is_class else "staged_predict"
        call = f"list(model.{method}(rows))[{_INDEX}]"
    else:
        call = f"np.mean(model.predict_members(rows)[:{_ROUND}], axis=0)" + ("" if is_class else ".ravel()")
    lines = ["", "def measure_error(rows, truth):", f"    predicted = {call}  # after round {_ROUND}"]
    if is_class:
        lines += [
            "    classes = model.classes_[predicted.argmax(axis=1)]",
            "    return float(np.mean(classes != truth))",
        ]
    else:
        lines += ["    return float(np.mean((predicted - truth) ** 2))"]
    return [
        *lines,
        "",
        "",
        "training_error = measure_error(X, y)",
        "test_error = measure_error(X_test, y_test) if len(X_test) else None",
        'print("training error", training_error, "test error", test_error)',
    ]
