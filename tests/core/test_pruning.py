"""Cost-complexity pruning against the textbook and scikit-learn."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import _core
from tests.core.random_trees import Draw, Tree, convert_sklearn, draw_tree
from tests.naive import tree as naive


def load(name: str) -> tuple[DecisionTreeClassifier | DecisionTreeRegressor, np.ndarray, np.ndarray]:
    if name == "diabetes":
        return DecisionTreeRegressor(random_state=0), *load_diabetes(return_X_y=True)
    if name == "diabetes, depth":
        return DecisionTreeRegressor(max_depth=6, random_state=1), *load_diabetes(return_X_y=True)
    criterion = "entropy" if name == "wine" else "gini"
    data = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}[name]
    return DecisionTreeClassifier(criterion=criterion, random_state=0), *data(return_X_y=True)


DATA = ("iris", "wine", "breast cancer", "diabetes", "diabetes, depth")


def make_prunable(rng: np.random.Generator, n_leaves: int) -> Tree:
    """A random tree whose weights add up and whose risk never rises from a node to its children."""
    tree = draw_tree(rng, Draw(n_leaves=n_leaves))
    tree["weighted_n_node_samples"][0] = 100.0
    for node in naive.list_inner(tree):
        share = rng.uniform(0.2, 0.8)
        for child, part in ((tree["children_left"][node], share), (tree["children_right"][node], 1 - share)):
            tree["weighted_n_node_samples"][child] = part * tree["weighted_n_node_samples"][node]
            tree["impurity"][child] = rng.random() * tree["impurity"][node]
    return tree


def read_shape(tree: Tree, node: int = 0) -> tuple[object, ...]:
    if tree["children_left"][node] < 0:
        return (int(tree["n_node_samples"][node]),)
    sides = [read_shape(tree, int(tree[key][node])) for key in ("children_left", "children_right")]
    return (int(tree["feature"][node]), float(tree["threshold"][node]), *sides)


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_against_the_textbook(seed: int) -> None:
    tree = make_prunable(np.random.default_rng(seed), n_leaves=2 + 12 * seed)
    _, alphas, risks = naive.prune(tree)
    got_alphas, got_risks = _core.testing.pruning_path_grown(tree)
    np.testing.assert_allclose(got_alphas, alphas, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(got_risks, risks, rtol=1e-9, atol=1e-15)
    between = [(a + b) / 2 for a, b in itertools.pairwise(alphas)]
    for alpha in [0.0, *between, 10.0]:
        pruned = _core.testing.prune_grown(tree, alpha)
        assert read_shape(pruned) == read_shape(naive.prune(tree, alpha)[0])
        assert len(pruned["feature"]) == 2 * naive.count_leaves(pruned, 0) - 1


@pytest.mark.parametrize("name", DATA)
def test_the_path_of_scikit_learn(name: str) -> None:
    model, X, y = load(name)
    wanted = model.cost_complexity_pruning_path(X, y)
    grown = convert_sklearn(model.fit(X, y).tree_, classes="diabetes" not in name)
    alphas, impurities = _core.testing.pruning_path_grown(grown)
    assert len(alphas) == len(wanted.ccp_alphas)
    np.testing.assert_allclose(alphas, wanted.ccp_alphas, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(impurities, wanted.impurities, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", DATA)
def test_the_pruned_trees_of_scikit_learn(name: str) -> None:
    model, X, y = load(name)
    classes = "diabetes" not in name
    grown = convert_sklearn(model.fit(X, y).tree_, classes)
    path = _core.testing.pruning_path_grown(grown)[0]
    steps = np.flatnonzero(np.diff(path) > 1e-9 * path[-1])
    for step in steps[:: max(1, len(steps) // 8)]:
        alpha = (path[step] + path[step + 1]) / 2
        wanted = model.set_params(ccp_alpha=alpha).fit(X, y).tree_
        assert read_shape(_core.testing.prune_grown(grown, alpha)) == read_shape(convert_sklearn(wanted, classes))


def test_nothing_is_pruned_at_zero_and_all_at_infinity() -> None:
    tree = make_prunable(np.random.default_rng(1), 20)
    assert len(_core.testing.prune_grown(tree, 0.0)["feature"]) == 39
    assert len(_core.testing.prune_grown(tree, np.inf)["feature"]) == 1


def test_links_that_tie_go_together() -> None:
    tree = {
        "children_left": np.array([1, 3, 5, -1, -1, -1, -1]),
        "children_right": np.array([2, 4, 6, -1, -1, -1, -1]),
        "feature": np.array([0, 1, 1, -2, -2, -2, -2]),
        "threshold": np.zeros(7),
        "n_node_samples": np.array([8, 4, 4, 2, 2, 2, 2]),
        "weighted_n_node_samples": np.array([8.0, 4, 4, 2, 2, 2, 2]),
        "impurity": np.array([1.0, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]),
        "value": np.zeros((7, 1)),
    }
    assert len(_core.testing.prune_grown(tree, 0.125)["feature"]) == 3
    assert len(_core.testing.prune_grown(tree, 0.124)["feature"]) == 7
    np.testing.assert_array_equal(_core.testing.pruning_path_grown(tree)[0], [0.0, 0.125, 0.125, 0.5])


def test_categories_survive_pruning() -> None:
    rng = np.random.default_rng(3)
    tree = draw_tree(rng, Draw(n_leaves=30, categorical=(0, 1, 2)))
    pruned = _core.testing.prune_grown(tree, 0.05)
    sets = {tuple(codes) for codes in tree["left_categories"].values()}
    assert 1 < len(pruned["feature"]) < 59
    assert pruned["left_categories"]
    assert all(tuple(codes) in sets for codes in pruned["left_categories"].values())
