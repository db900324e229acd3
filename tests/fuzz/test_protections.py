"""What `make protections` takes out is there to be taken out, and the tests that it runs exist."""

from __future__ import annotations

import pytest

from fuzz.core_protections import CORE_PROTECTIONS, CoreProtection, switch_files
from fuzz.protections import PROTECTIONS, Protection, change_text
from fuzz.runner import ROOT


@pytest.mark.parametrize("protection", PROTECTIONS, ids=lambda one: one.name)
def test_the_text_is_in_the_file_once(protection: Protection) -> None:
    assert change_text(protection) != (ROOT / protection.file).read_text(encoding="utf-8")


def test_every_statement_of_the_core_gets_a_switch() -> None:
    texts = switch_files(CORE_PROTECTIONS)
    for number, protection in enumerate(CORE_PROTECTIONS, start=1):
        assert texts[protection.file].count(f"!is_taken_out({number})") == 1


def test_what_is_switched_is_the_last_statement_of_the_text() -> None:
    poll = CoreProtection("", "cpp/src/explain/shap.cpp", "for (std::size_t block = task * per_task;", "")
    with pytest.raises(IndexError):
        switch_files([poll])
    with pytest.raises(ValueError, match="must hold this text once"):
        switch_files([poll._replace(text="absent: throw")])


@pytest.mark.parametrize("test", sorted({one.test for one in (*PROTECTIONS, *CORE_PROTECTIONS) if "::" in one.test}))
def test_the_test_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")
