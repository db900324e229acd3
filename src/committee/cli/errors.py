"""What can go wrong at the command line: one sentence, one hint, one exit code."""

USAGE = 2
DATA = 1


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
