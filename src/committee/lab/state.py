"""States of the lab: data, method, parameters and round; each has one link."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, TypeAlias, get_args
from urllib.parse import parse_qsl, urlencode

from committee.exceptions import ParameterError

__all__ = [
    "ALGORITHMS",
    "LIMITS",
    "MOST_POINTS",
    "PLANE_SETS",
    "LabMethod",
    "LabState",
    "LabTask",
    "describe_choices",
    "read_fields",
    "read_link",
    "write_link",
]

LabTask: TypeAlias = Literal["classification", "regression"]
LabMethod: TypeAlias = Literal["bagging", "forest", "extra_trees", "adaboost", "boosting", "voting", "stacking"]

# The sets and what is learnt from them; "points" were drawn, or come from a table.
PLANE_SETS: dict[str, LabTask] = {
    "moons": "classification",
    "circles": "classification",
    "spirals": "classification",
    "iris": "classification",
    "points": "classification",
    "sine": "regression",
    "steps": "regression",
    "line_points": "regression",
}
ALGORITHMS: dict[LabTask, tuple[str, ...]] = {
    "classification": ("samme", "discrete", "samme.r", "real", "gentle", "logit"),
    "regression": ("r2", "rt"),
}
# Smallest and largest value and the step of the slider; powers of ten and halves are exact enough as text.
LIMITS: dict[str, tuple[float, float, float]] = {
    "n": (20, 1000, 10),
    "noise": (0.0, 1.0, 0.01),
    "flip": (0.0, 0.4, 0.01),
    "seed": (0, 999, 1),
    "depth": (1, 12, 1),
    "rate": (0.01, 2.0, 0.01),
    "rounds": (1, 300, 1),
    "subsample": (0.1, 1.0, 0.05),
    "round": (0, 300, 1),
}
MOST_POINTS = 1000
MOST_CLASSES = 8


@dataclass(frozen=True)
class LabState:
    """What the lab shows.

    Parameters
    ----------
    data : str
        A key of `PLANE_SETS`.
    n, noise, flip, seed : int, float, float, int
        Points of the training set, standard deviation around the shape, share of wrong labels, seed of the draw.
    points : str
        ``x,y,class`` of the drawn points, joined by underscores, for ``data="points"``; ``x,y`` for "line_points".
    box : str
        Ends of the axes for drawn points: ``left,right,bottom,top``.
    method : str
        Family of the ensemble.
    algorithm : str
        Variant of AdaBoost.
    depth, rate, rounds, subsample : int, float, int, float
        Depth of the trees, learning rate, number of members, share of the rows that each member gets.
    round : int
        The round that is shown; 0 is the last.
    """

    data: str = "moons"
    n: int = 300
    noise: float = 0.25
    flip: float = 0.0
    seed: int = 0
    points: str = ""
    box: str = ""
    method: LabMethod = "adaboost"
    algorithm: str = "samme"
    depth: int = 1
    rate: float = 1.0
    rounds: int = 50
    subsample: float = 1.0
    round: int = 0

    def __post_init__(self) -> None:
        _check_choice("data", self.data, PLANE_SETS)
        _check_choice("method", self.method, get_args(LabMethod))
        _check_choice("algorithm", self.algorithm, ALGORITHMS[self.task])
        for name, (least, most, _) in LIMITS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ParameterError(f"The lab's '{name}' must be between {least:g} and {most:g}; got {value:g}.")
        if bool(self.points) != self.data.endswith("points"):
            raise ParameterError("The lab's 'points' go with data='points' or data='line_points', and with no other.")

    @property
    def task(self) -> LabTask:
        """Whether classes or values are learnt."""
        return PLANE_SETS[self.data]

    def at_round(self, number: int) -> LabState:
        """The same fit, another round."""
        return replace(self, round=number)


_KINDS: dict[str, type] = {
    name: int if name in ("n", "seed", "depth", "rounds", "round") else float if name in LIMITS else str
    for name in (field.name for field in fields(LabState))
}


def _check_choice(name: str, value: str, allowed: Mapping[str, object] | tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"The lab's '{name}' must be one of {', '.join(allowed)}; got {value!r}.")


def read_fields(given: Mapping[str, object]) -> LabState:
    """A state of named values, which may be text; what is not named has its default.

    Parameters
    ----------
    given : mapping
        Names of the fields of `LabState`.

    Returns
    -------
    LabState
    """
    read: dict[str, object] = {}
    for name, value in given.items():
        if name not in _KINDS:
            raise ParameterError(f"The lab has no '{name}'; its states have {', '.join(_KINDS)}.")
        read[name] = _convert(name, value)
    if "algorithm" not in read:
        data = str(read.get("data", LabState.data))
        _check_choice("data", data, PLANE_SETS)
        read["algorithm"] = ALGORITHMS[PLANE_SETS[data]][0]
    return LabState(**read)  # type: ignore[arg-type] # each was converted to the type of its field


def _convert(name: str, value: object) -> object:
    kind = _KINDS[name]
    if kind is str:
        return str(value)
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or (kind is int and number != int(number)):
        what = "a whole number" if kind is int else "a number"
        raise ParameterError(f"The lab's '{name}' must be {what}; got {str(value)[:40]!r}.")
    return int(number) if kind is int else number


def read_link(text: str) -> LabState:
    """The state of the part of a link after ``#``.

    Parameters
    ----------
    text : str
        ``name=value`` pairs joined by ``&``; empty for the state that the lab opens with.

    Returns
    -------
    LabState

    Examples
    --------
    >>> read_link("data=circles&method=forest&rounds=20").rounds
    20
    """
    return read_fields(dict(parse_qsl(text.lstrip("#"), keep_blank_values=True)))


def write_link(state: LabState) -> str:
    """The part of a link after ``#``; the inverse of `read_link`.

    Parameters
    ----------
    state : LabState
        The state.

    Returns
    -------
    str

    Examples
    --------
    >>> write_link(LabState(method="forest", rounds=20))
    'data=moons&n=300&noise=0.25&flip=0&seed=0&method=forest&algorithm=samme&depth=1&rate=1&rounds=20&subsample=1&round=0'
    """
    given = {name: getattr(state, name) for name in _KINDS}
    texts = {name: f"{value:.10g}" if isinstance(value, float) else value for name, value in given.items()}
    return urlencode({name: text for name, text in texts.items() if text != ""}, safe=",")


def describe_choices() -> dict[str, object]:
    """All that the page offers: sets, methods, algorithms, ends of the sliders, the first state."""
    start = LabState()
    return {
        "sets": PLANE_SETS,
        "methods": list(get_args(LabMethod)),
        "algorithms": ALGORITHMS,
        "limits": LIMITS,
        "start": {name: getattr(start, name) for name in _KINDS},
        "most_points": MOST_POINTS,
        "most_classes": MOST_CLASSES,
    }
