"""Counts of tests under a sanitizer are read from what pytest and the sanitizers print."""

import gzip
from pathlib import Path

import pytest

from fuzz.tested import count_reports, count_tests, list_failed, read_log

LOG = """\
created: 2/2 workers
2 workers [6 items]

tests/a.py::test_one[a b]
[gw0] [ 16%] PASSED tests/a.py::test_one[a b]
[gw1] [ 33%] SKIPPED tests/a.py::test_two
[gw1] [ 50%] PASSED tests/a.py::test_three
[gw1] [ 50%] ERROR tests/a.py::test_three
[gw0] [ 66%] FAILED tests/b.py::test_four
[gw0] [ 83%] XFAIL tests/b.py::test_five
"""
REPORTS = """\
== address.report.12
/somewhere/cpp/src/binning/rows.cpp:10:4: runtime error: null pointer passed as argument 2
    #0 0x7f in slice_rows /somewhere/cpp/src/binning/rows.cpp:10
=================================================================
==13==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60200000 at pc 0x7f
READ of size 8 at 0x60200000 thread T0
    #0 0x7f in memcpy (libasan.so.8+0x1)
    #1 0x7f in predict /somewhere/cpp/src/predict/walk.cpp:20
==14==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60300000 at pc 0x8f
    #0 0x8f in predict /somewhere/cpp/src/predict/walk.cpp:20
WARNING: ThreadSanitizer: data race (pid=77)
    #0 0x8f in run /somewhere/cpp/src/parallel/pool.cpp:5
"""


def test_outcomes_of_several_processes() -> None:
    assert count_tests(LOG) == {"passed": 1, "failed": 2, "skipped": 2, "not run": 1}
    assert count_tests(LOG.replace("2 workers [", "1 worker ["))["not run"] == 1
    assert list_failed(LOG) == ["tests/a.py::test_three", "tests/b.py::test_four"]


def test_runs_that_went_on_are_one_run() -> None:
    """What was skipped in one run and ran in another has run; what was repeated counts once, as it ended then."""
    more = """\
2 workers [4 items]
[gw0] [ 25%] PASSED tests/a.py::test_two
[gw0] [ 50%] SKIPPED tests/a.py::test_one[a b]
[gw1] [ 75%] PASSED tests/b.py::test_four
[gw1] [100%] PASSED tests/b.py::test_six
"""
    assert count_tests(LOG, more) == {"passed": 4, "failed": 1, "skipped": 1, "not run": 0}
    assert list_failed(LOG, more) == ["tests/a.py::test_three"]


def test_a_report_may_begin_in_the_middle_of_a_line() -> None:
    """Standard error is not captured: a report follows upon the name of the test that was just printed."""
    begun = "tests/a.py::test_one[a-b] /somewhere/cpp/src/split/rows.hpp:43:14: runtime error: null pointer passed\n"
    assert count_reports(begun) == {"cpp/src/split/rows.hpp:43:14: null pointer passed": 1}
    begun = "[gw1] [ 9%] PASSED tests/a.py::test_two ==13==ERROR: AddressSanitizer: SEGV on unknown address\n"
    assert count_reports(begun) == {"elsewhere: AddressSanitizer: SEGV on unknown address": 1}


def test_outcomes_of_one_process() -> None:
    log = "collected 3 items\n\ntests/a.py::test_one[x] PASSED [ 33%]\ntests/a.py::test_two SKIPPED (absent) [ 66%]\n"
    assert count_tests(log) == {"passed": 1, "failed": 0, "skipped": 1, "not run": 1}


def test_a_log_without_names_is_refused() -> None:
    with pytest.raises(ValueError, match="run pytest with -v"):
        count_tests("....")


def test_reports_are_counted_by_what_and_where() -> None:
    assert count_reports("") == {}
    found = count_reports(REPORTS)
    assert list(found.values()) == [1, 2, 1]
    assert next(iter(found)) == "cpp/src/binning/rows.cpp:10:4: null pointer passed as argument 2"
    assert list(found)[1].startswith("cpp/src/predict/walk.cpp:20: AddressSanitizer: heap-buffer-overflow")
    assert list(found)[2].startswith("cpp/src/parallel/pool.cpp:5: ThreadSanitizer: data race")


def test_files_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    assert read_log(path) == LOG
