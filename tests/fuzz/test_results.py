"""The page on reliability has the numbers of the results that are kept."""

from fuzz.results import BEGIN, END, PAGE, make_tables, read_faults, read_results


def test_the_page_has_the_counts_that_are_kept() -> None:
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert shown.strip() == make_tables(read_results(), read_faults())


def test_a_million_cases_were_run_and_crashed_in_the_first_run_only() -> None:
    runs = read_results()["runs"]
    counted = [sum(n for own in run["kinds"].values() for name, n in own.items() if name != "skipped") for run in runs]
    assert sum(counted) >= 1_000_000
    last = [own for run in runs[1:] for own in run["kinds"].values()]
    assert not any(own.get("crash") for own in last)
    # A fit of some seconds to many classes and columns, several times: the page names it.
    assert sum(own.get("hang", 0) for own in last) == 1
