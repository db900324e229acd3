"""Members that the user adds to the portfolio: estimators of any library, fitted in the folds of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from committee.automatic.portfolio import PORTFOLIO, PRIOR, PortfolioEntry
from committee.constraints import show_value
from committee.ensembles.combining.named_ensemble import check_weight_argument
from committee.exceptions import ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["list_extra_entries", "make_extra_member"]


def list_extra_entries(
    given: Sequence[tuple[str, Any]] | None, *, classify: bool, weighted: bool, owner: str
) -> list[PortfolioEntry]:
    """Entries of the members that a user has given, after a check of them all.

    Parameters
    ----------
    given : sequence of (str, estimator) or None
        The parameter `extra_members`.
    classify : bool
        Whether classes are predicted.
    weighted : bool
        Whether rows have weights.
    owner : str
        Name of the class of the ensemble.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> pairs = [("logistic", LogisticRegression())]
    >>> found = list_extra_entries(pairs, classify=True, weighted=False, owner="CommitteeClassifier")
    >>> [(entry.name, entry.source) for entry in found]
    [('logistic', 'folds')]
    """
    entries: list[PortfolioEntry] = []
    taken = [PRIOR.name, *(entry.name for entry in PORTFOLIO)]
    for name, member in _read_members(given, owner):
        _check_member(name, member, classify, owner)
        if name in taken:
            raise ParameterError(
                f"The 'extra_members' parameter of {owner} has a member named {name!r}, which is the name of another "
                f"model; taken are {taken}."
            )
        if weighted:
            check_weight_argument(name, member)
        taken.append(name)
        entries.append(PortfolioEntry(name, (None, None), "folds", estimator=member))
    return entries


def make_extra_member(estimator: Any, seed: int, number: int) -> Any:
    """A clone with a number in place of each ``random_state`` that is None.

    Examples
    --------
    >>> from sklearn.linear_model import Perceptron
    >>> make_extra_member(Perceptron(random_state=None), 0, 1).random_state
    1982462498
    """
    made = clone(estimator)
    params = made.get_params(deep=True)
    names = sorted(n for n in params if n == "random_state" or n.endswith("__random_state"))
    states = np.random.SeedSequence([seed, number]).generate_state(max(1, len(names)))
    # Some libraries have seeds of 31 bits.
    return made.set_params(**{n: int(s) >> 1 for n, s in zip(names, states, strict=False) if params[n] is None})


def _read_members(given: Any, owner: str) -> list[tuple[str, Any]]:
    try:
        pairs = [(name, member) for name, member in given or ()]
    except (TypeError, ValueError):
        pairs = [(None, None)]
    if any(not isinstance(name, str) for name, _ in pairs):
        raise ParameterTypeError(
            f"The 'extra_members' parameter of {owner} must be None or a list of (name, estimator) pairs; got "
            f"{show_value(given)}."
        )
    return pairs


def _check_member(name: str, member: Any, classify: bool, owner: str) -> None:
    if isinstance(member, type) or not hasattr(member, "fit") or not hasattr(member, "get_params"):
        raise ParameterTypeError(
            f"The 'extra_members' parameter of {owner} must hold estimators of scikit-learn's interface; {name!r} is "
            f"{show_value(member)}."
        )
    fits, kind = (is_classifier, "classifier") if classify else (is_regressor, "regressor")
    if not fits(member):
        raise ParameterError(f"The member {name!r} of {owner} must be a {kind}; it is a {type(member).__name__}.")
    if classify and not hasattr(member, "predict_proba"):
        raise ParameterError(
            f"The member {name!r} of {owner} must have predict_proba, since probabilities are averaged; "
            f"{type(member).__name__} has none. Wrap it in CalibratedClassifierCV."
        )
