"""`committee compare`: the same folds for all, and a test that knows that they overlap."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold

import committee
from committee.cli.compare import adjust_holm, compute_t_test, plan_comparison
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem
from committee.cli.table import read_source
from tests.cli.conftest import Run


def test_results_are_what_they_say(run: Run) -> None:
    done = run(
        *("compare", "wine", "-e", "stump", "-e", "tree", "-e", "extra-trees", "--folds", 4, "--repeats", 2),
        *("--set", "tree.max_depth=3", "--set", "extra-trees.n_estimators=10", "--seed", 3, "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    stump, tree, forest = found["results"]
    assert [r["estimator"] for r in found["results"]] == [
        "DecisionStumpClassifier",
        "DecisionTreeClassifier",
        "ExtraTreesClassifier",
    ]
    assert tree["parameters"] == {"max_depth": 3}
    assert stump["difference"] is None

    X, y = load_wine(return_X_y=True)
    expected = [
        (committee.DecisionTreeClassifier(max_depth=3, random_state=3).fit(X[a], y[a]).predict(X[b]) == y[b]).mean()
        for seed in (3, 4)
        for a, b in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y)
    ]
    np.testing.assert_allclose(tree["scores"], expected)
    assert tree["mean"] == pytest.approx(np.mean(expected))
    d = np.array(tree["scores"]) - np.array(stump["scores"])
    error = np.sqrt((1 / 8 + 1 / 3) * d.var(ddof=1))
    difference = tree["difference"]
    assert difference["mean"] == pytest.approx(d.mean())
    assert difference["standard_error"] == pytest.approx(error)
    assert difference["p_value"] == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 7))
    p_values = sorted([difference["p_value"], forest["difference"]["p_value"]])
    adjusted = sorted([difference["p_value_adjusted"], forest["difference"]["p_value_adjusted"]])
    assert adjusted == pytest.approx([2 * p_values[0], max(2 * p_values[0], p_values[1])])


def test_what_it_prints(run: Run) -> None:
    done = run("compare", "diabetes", "-e", "tree", "-e", "random-forest", "--metric", "mae", "--repeats", 1,
               "--folds", 3, "--set", "max_depth=4")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    for fragment in ("mean absolute error (lower is better), 1 times 3 folds", "RandomForestRegressor", "p-value"):
        assert fragment in done.stdout


def test_without_estimators_one_of_each_family_is_compared() -> None:
    problem = define_problem(read_source("iris", "utf-8"), Roles(), "auto")
    comparison = plan_comparison(problem, [], {}, Plan("", {}, 5, 0, 1), 2)
    assert comparison.names == [
        "RandomForestClassifier",
        "ExtraTreesClassifier",
        "HistGradientBoostingClassifier",
        "DecisionTreeClassifier",
    ]


def test_the_test_without_spread() -> None:
    assert compute_t_test(np.zeros(6), 3).p_value == 1.0
    assert compute_t_test(np.full(6, 0.5), 3).p_value == 0.0


def test_the_test_holds_its_level_where_the_plain_one_does_not() -> None:
    # Scores of overlapping parts correlate by about the share of rows for testing; there is no difference.
    rng = np.random.default_rng(0)
    n_tables, folds, n_parts = 2000, 5, 25
    shared = rng.normal(size=(n_tables, 1)) * np.sqrt(1 / folds)
    scores = shared + rng.normal(size=(n_tables, n_parts)) * np.sqrt(1 - 1 / folds)
    corrected = np.mean([compute_t_test(row, folds).p_value < 0.05 for row in scores])
    plain = np.mean(stats.ttest_1samp(scores, 0, axis=1).pvalue < 0.05)
    assert corrected == pytest.approx(0.05, abs=0.02)
    assert plain > 0.3


def test_holm() -> None:
    assert adjust_holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert adjust_holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["-e", "tree"], "at least two"),
        (["-e", "tree", "-e", "decision-tree"], "each named once"),
        (["-e", "tree", "-e", "stump", "--set", "random-forest.max_depth=3"], "is not compared"),
        (["-e", "tree", "-e", "stump", "--set", "tree.deph=3"], "no parameter 'deph'"),
    ],
)
def test_errors(run: Run, arguments: list[str], fragment: str) -> None:
    done = run("compare", "iris", *arguments)
    assert done.returncode == 2
    assert fragment in done.stderr
    assert len(done.stderr.splitlines()) == 2
