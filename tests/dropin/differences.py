"""Which of scikit-learn's tests fail with this library's estimators, and why.

The list stands in `differences.toml`, a table per module. A test of the list is expected to fail; one that passes
fails the suite and must leave the list. The kinds:

private
    The test reads private attributes or modules of scikit-learn, or replaces them.
words
    The test compares the words of a message or of printed output.
generous
    scikit-learn refuses what this library accepts, on purpose.
behaviour
    The result differs.
"""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

KINDS = ("private", "words", "generous", "behaviour")


def matches_pattern(pattern: str, test: str) -> bool:
    """Whether a test has a name of the list; a star is a wildcard, brackets around parameters are literal."""
    return fnmatchcase(test, pattern.replace("[", "[[]"))


@dataclass(frozen=True)
class Difference:
    """One or more tests of a module that fail, and the reason. A star in a name is a wildcard."""

    tests: tuple[str, ...]
    kind: str
    reason: str

    def matches(self, test: str) -> bool:
        """Whether a test is one of these."""
        return any(matches_pattern(pattern, test) for pattern in self.tests)


@cache
def read_differences() -> dict[str, list[Difference]]:
    """The list by module."""
    content = tomllib.loads(Path(__file__).with_name("differences.toml").read_text(encoding="utf-8"))
    return {
        module: [Difference(tuple(entry["tests"]), entry["kind"], entry["reason"]) for entry in entries]
        for module, entries in content.items()
    }


def find_difference(module: str, test: str) -> Difference | None:
    """The entry for a test, or None if it is expected to pass."""
    return next((entry for entry in read_differences().get(module, []) if entry.matches(test)), None)
