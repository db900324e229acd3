"""Errors of the command: one sentence, one hint, one exit code."""

import difflib
import re

USAGE = 2
DATA = 1

_MOST_LISTED = 12
# Letters of a name that are shown in a sentence; of a longer one the beginning and the end.
_MOST_LETTERS = 80
# A name in quotes, which stand between other signs than letters; an apostrophe does not.
_QUOTED = re.compile(r"(?<!\w)(['\"])((?:(?!\1(?!\w)).)+)\1(?!\w)")


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


def shorten_names(sentence: str) -> str:
    """Shorten the quoted names in a sentence.

    Parameters
    ----------
    sentence : str
        For instance an error message with the name of a file.

    Returns
    -------
    str

    Examples
    --------
    >>> len(shorten_names(f"There is no file '{'x' * 5000}'."))
    99
    """
    return _QUOTED.sub(lambda quoted: f"{quoted[1]}{_cut_middle(quoted[2])}{quoted[1]}", sentence)


def _cut_middle(text: str) -> str:
    if len(text) <= _MOST_LETTERS:
        return text
    kept = (_MOST_LETTERS - 1) // 2
    return f"{text[:kept]}…{text[-kept:]}"
