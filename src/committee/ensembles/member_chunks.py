"""The loop of forests and bags: members in chunks, each chunk scored on the rows that are out of bag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from committee.ensembles.fit_callbacks import has_fit_callbacks, should_stop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from committee.ensembles.out_of_bag import OutOfBag
    from committee.ensembles.progress import ProgressCallback

__all__ = ["MemberBuilder", "plan_chunks"]

_CHUNK = 20
"""Members between two checks whether the score has converged. Members grown too many are dropped, so that the result
does not depend on this number."""


class MemberBuilder(Protocol):
    """An ensemble under construction, with as many members as its length."""

    def __len__(self) -> int: ...

    def add_votes(self, votes: OutOfBag, last: int) -> None:
        """Add the votes of the members grown last; drop those that came after the score converged."""


def plan_chunks(
    estimator: object,
    builder: MemberBuilder,
    votes: OutOfBag | None,
    last: int,
    on_progress: ProgressCallback | None,
) -> Iterator[int]:
    """Numbers of members to grow to, one after the other, until there are enough or the score has converged.

    Parameters
    ----------
    estimator : estimator
        Whose callbacks may stop the fit.
    builder : MemberBuilder
        It must have grown to each number before the next one is asked for; its votes are then added.
    votes : OutOfBag or None
        Where out-of-bag votes are summed and scored; None where no one asks for them.
    last : int
        The number of members of the whole ensemble.
    on_progress : ProgressCallback or None
        The callback of `show_progress`.

    Yields
    ------
    int
    """
    at_once = (votes is None or votes.patience is None) and not has_fit_callbacks(estimator)
    if votes is not None and len(builder):
        builder.add_votes(votes, last)
    while len(builder) < last and not (votes is not None and votes.converged) and not should_stop(on_progress):
        yield last if at_once else min(len(builder) + _CHUNK, last)
        if votes is not None:
            builder.add_votes(votes, last)
