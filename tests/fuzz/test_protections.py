"""What `make protections` takes out is there to be taken out, and the tests that it runs exist."""

from __future__ import annotations

import pytest

from fuzz.protections import PROTECTIONS, Protection, change_text
from fuzz.runner import ROOT


@pytest.mark.parametrize("protection", PROTECTIONS, ids=lambda one: one.name)
def test_the_text_is_in_the_file_once(protection: Protection) -> None:
    assert change_text(protection) != (ROOT / protection.file).read_text(encoding="utf-8")


@pytest.mark.parametrize("test", sorted({one.test for one in PROTECTIONS if "::" in one.test}))
def test_the_test_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")
