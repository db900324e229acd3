"""One case by its seed and number."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fuzz.asking import ask_anything, inspect_anything
from fuzz.commands import call_anything
from fuzz.draws import Draw, show_short
from fuzz.files import load_anything
from fuzz.fitting import draw_name, fit_anything, fit_params
from fuzz.libraries import Skipped
from fuzz.oracle import Finding, Refusal, describe
from fuzz.searching import search_anything

__all__ = ["BAD", "KINDS", "SEARCHES", "Outcome", "label_case", "run_case"]

KINDS: dict[str, tuple[float, Callable[[Draw, str], None]]] = {
    "fit": (45, fit_anything),
    "parameters": (20, fit_params),
    "rows": (15, ask_anything),
    "inspection": (8, inspect_anything),
    "files": (11, load_anything),
    "command": (1, call_anything),
}
#: One of so many cases is a search. By its number: a kind that is drawn would make all other cases different ones, and
#: those that once found something are known by their seed and number.
SEARCHES, SEARCH_EVERY = "search", 50

#: Results that nobody may get.
BAD = ("finding", "crash", "hang")


class Outcome(NamedTuple):
    """What came of a case."""

    result: str
    """answered, refused, skipped, or finding."""
    detail: str
    notes: list[str]


def label_case(seed: int, number: int) -> tuple[Draw, str, str]:
    """The draw of a case, its kind and its estimator."""
    draw = Draw(seed, number)
    kind = draw.pick_name({name: share for name, (share, _) in KINDS.items()})
    return draw, SEARCHES if number % SEARCH_EVERY == SEARCH_EVERY - 1 else kind, draw_name(draw)


def run_case(seed: int, number: int) -> Outcome:
    """Run a case and judge what comes of it."""
    draw, kind, name = label_case(seed, number)
    try:
        work = search_anything if kind == SEARCHES else KINDS[kind][1]
        work(draw, name)
    except Skipped as skipped:
        return Outcome("skipped", str(skipped), draw.notes)
    except Refusal as refusal:
        return Outcome("refused", show_short(str(refusal)), draw.notes)
    except Finding as finding:
        return Outcome("finding", str(finding), draw.notes)
    # What the fuzzer itself gets wrong is a finding too: nobody would look for it otherwise.
    except Exception as error:
        return Outcome(
            "finding", f"outside the library: {type(error).__name__}: {error}\n{describe(error)}", draw.notes
        )
    return Outcome("answered", "", draw.notes)
