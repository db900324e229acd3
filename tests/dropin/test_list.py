"""The list of differences is complete, and the documentation shows its numbers."""

import pytest

from tests.dropin.conftest import COLLECTED
from tests.dropin.differences import KINDS, read_differences
from tests.dropin.numbers import count_kinds, list_modules, list_stale_entries, make_table, read_page_table


def test_every_difference_has_a_kind_and_a_reason() -> None:
    entries = [entry for entries in read_differences().values() for entry in entries]
    assert entries
    for entry in entries:
        assert entry.kind in KINDS
        assert len(entry.reason.split()) >= 4, entry


def test_every_listed_test_exists(request: pytest.FixtureRequest) -> None:
    if any("::" in argument for argument in request.config.args):
        pytest.skip("Only some tests of the files were collected.")
    assert list_stale_entries(request.config.stash[COLLECTED]) == []


def test_the_numbers_do_not_fall_and_the_documentation_shows_them(request: pytest.FixtureRequest) -> None:
    collected = request.config.stash[COLLECTED]
    if set(collected) != list_modules() or any("::" in argument for argument in request.config.args):
        pytest.skip("Only some of the files were collected.")
    counts = sum((count_kinds(module, tests) for module, tests in collected.items()), start=count_kinds("", []))
    comparable = counts.total() - counts["private"] - counts["words"]
    assert counts["passed"] / counts.total() >= 0.905
    assert counts["passed"] / comparable >= 0.97
    assert counts["passed"] / (comparable - counts["generous"]) >= 0.975
    assert read_page_table() == make_table(collected), "run python -m tests.dropin"
