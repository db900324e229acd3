"""What can go wrong at the command line: one sentence, one hint, one exit code."""

import difflib

USAGE = 2
DATA = 1

_MOST_LISTED = 12


class CommandError(Exception):
    """A sentence for the user.

    Parameters
    ----------
    sentence : str
        What is wrong.
    hint : str
        What to do about it.
    code : int
        ``USAGE`` if the call must change, ``DATA`` if the table must.
    """

    def __init__(self, sentence: str, hint: str, code: int = DATA) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.code = code


def suggest(word: str, known: list[str], most: int = _MOST_LISTED) -> str:
    """Offer the nearest known word, or all of them.

    Parameters
    ----------
    word : str
        What was typed.
    known : list of str
        What would have been right.
    most : int
        How many are listed at most.

    Returns
    -------
    str
        A hint.
    """
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f"Did you mean '{near[0]}'?"
    listed = ", ".join(known[:most]) + (", …" if len(known) > most else "")
    return f"Known: {listed}."
