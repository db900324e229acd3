"""Errors of the command: one sentence, one hint, one exit code."""

import difflib

USAGE = 2
DATA = 1

_MOST_LISTED = 12


class CommandError(Exception):
    """An error that is shown to the user.

    Parameters
    ----------
    sentence : str
        What is wrong.
    hint : str
        What to do about it.
    code : int
        ``USAGE`` if the call is wrong, ``DATA`` if the table is.
    """

    def __init__(self, sentence: str, hint: str, code: int = DATA) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.code = code


def suggest(word: str, known: list[str], most: int = _MOST_LISTED) -> str:
    """Suggest the closest known word, or list the known words.

    Parameters
    ----------
    word : str
        The word that was given.
    known : list of str
        The valid words.
    most : int
        Maximum number of words to list.

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
