"""Free text in ensembles of other estimators: the members read it, as one parameter of the ensemble says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from committee.constraints import show_value
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_member_texts", "read_texts_of_members"]


def read_member_texts(owner: Any, member: Any) -> Any:
    """The member, not fitted, that reads text as ``text_columns`` of the ensemble says; ``'auto'`` leaves it as it is.

    Parameters
    ----------
    owner : estimator
        The ensemble.
    member : estimator
        A change is made to a clone.
    """
    wanted = owner.text_columns
    if _is_auto(wanted):
        return member
    if not _reads_text(member):
        raise ParameterError(
            f"The 'text_columns' parameter of {type(owner).__name__} is for members that have it too; a "
            f"{type(member).__name__} reads the table by itself. Leave it at 'auto'."
        )
    own = member.text_columns
    if not _is_auto(own) and (own is None or wanted is None or list(own) != list(wanted)):
        raise ParameterError(
            f"The 'text_columns' parameter of {type(owner).__name__} is {show_value(wanted)}, and that of its member "
            f"{type(member).__name__} {show_value(own)}; set only one of them."
        )
    return clone(member).set_params(text_columns=wanted)


def read_texts_of_members(owner: Any, pairs: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The same of named members, of which those without the parameter read the table by themselves.

    Parameters
    ----------
    owner : estimator
        The ensemble.
    pairs : sequence of (str, estimator)
        Names and members.
    """
    if not _is_auto(owner.text_columns) and not any(_reads_text(member) for _, member in pairs):
        names = ", ".join(type(member).__name__ for _, member in pairs)
        raise ParameterError(
            f"The 'text_columns' parameter of {type(owner).__name__} is for members that have it too, and none of "
            f"{names} has. Leave it at 'auto'."
        )
    return [(name, read_member_texts(owner, member) if _reads_text(member) else member) for name, member in pairs]


def _reads_text(member: Any) -> bool:
    return "text_columns" in member.get_params(deep=False)


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"
