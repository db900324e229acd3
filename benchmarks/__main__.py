"""Every suite: `python -m benchmarks`, with the options of a suite."""

from benchmarks import forests, trees

SUITES = (trees, forests)

if __name__ == "__main__":
    for suite in SUITES:
        suite.main()
