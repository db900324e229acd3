"""Run all suites: `python -m benchmarks`, with the options of a suite."""

from benchmarks import (
    adaboost,
    bagging,
    boostexter,
    boosting,
    forests,
    inspection,
    isolation,
    practice,
    ranking,
    several_targets,
    stacking,
    trees,
    wide,
)

SUITES = (
    trees,
    forests,
    isolation,
    bagging,
    stacking,
    adaboost,
    boostexter,
    boosting,
    ranking,
    several_targets,
    practice,
    wide,
    inspection,
)

if __name__ == "__main__":
    for suite in SUITES:
        suite.main()
