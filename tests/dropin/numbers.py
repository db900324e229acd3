"""How many of scikit-learn's tests pass, per file: the table of docs/drop_in.md.

A test that is not in the list of differences passes, and a listed one fails, or the suite fails. So the numbers follow
from the collected tests and the list.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.dropin.differences import KINDS, find_difference, matches_pattern, read_differences

PAGE = Path(__file__).parents[2] / "docs" / "drop_in.md"
BEGIN, END = "<!-- numbers: begin (python -m tests.dropin) -->", "<!-- numbers: end -->"
Collected = dict[str, list[str]]  # names of tests by module


def list_modules() -> set[str]:
    """Names of the modules that hold scikit-learn's tests."""
    return {path.stem for path in Path(__file__).parent.glob("test_*.py")} - {"test_list"}


def list_stale_entries(collected: Collected) -> list[str]:
    """Patterns of the list that no test of the collected modules matches."""
    return [
        f"{module}::{pattern}"
        for module, entries in read_differences().items()
        if module in collected
        for entry in entries
        for pattern in entry.tests
        if not any(matches_pattern(pattern, test) for test in collected[module])
    ]


def count_kinds(module: str, tests: Iterable[str]) -> Counter[str]:
    """Number of tests by kind of difference; "passed" for those without one."""
    found = (find_difference(module, test) for test in tests)
    return Counter("passed" if difference is None else difference.kind for difference in found)


def make_table(collected: Collected) -> str:
    """The numbers per file in Markdown, with a last line for all files."""
    counts = {module: count_kinds(module, tests) for module, tests in sorted(collected.items())}
    counts["**all**"] = sum(counts.values(), Counter())
    lines = [
        "| file | tests | pass | share | private | words | generous | behaviour | not private, words | nor generous |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for module, count in counts.items():
        total, passed = count.total(), count["passed"]
        comparable = total - count["private"] - count["words"]
        kinds = " | ".join(str(count[kind]) for kind in KINDS)
        name = module if module.startswith("*") else f"`{module}.py`"
        shares = (passed / n for n in (comparable, comparable - count["generous"]))
        lines.append(
            f"| {name} | {total} | {passed} | {passed / total:.1%} | {kinds} | "
            + " | ".join(f"{share:.1%}" for share in shares)
            + " |"
        )
    return "\n".join(lines)


def read_page_table() -> str:
    """The table that the page shows."""
    return PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip()


def write_page_table(table: str) -> None:
    """Put the table into the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", encoding="utf-8")
