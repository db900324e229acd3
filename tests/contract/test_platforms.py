"""Contract 1 across machines: the same data and seed give the same bytes on every processor.

The digests were written on one machine and are compared on all others. They change when the meaning of a fit changes
(another tie rule, another random stream); then they are written anew and the changelog says so.
"""

import hashlib

import numpy as np
import pytest

from committee import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExplainableBoostingClassifier,
    ExplainableBoostingRegressor,
    ExtraTreeClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)


def make_table(n_rows: int = 3000, n_features: int = 7):
    """Only uniform integers and exact arithmetic: nothing here depends on a mathematical library."""
    rng = np.random.default_rng(20)
    X = rng.integers(0, 1 << 20, size=(n_rows, n_features)) / 1024.0
    X[:, 0] = rng.integers(0, 9, size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    filled = np.nan_to_num(X, nan=100.0)
    signal = filled[:, 1] + 60.0 * filled[:, 0] - filled[:, 2] / 4 + rng.integers(0, 300, size=n_rows)
    return X, signal


def digest_trees(trees) -> str:
    digest = hashlib.sha256()
    for part in (trees.nodes, trees.values, trees.node_offsets):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()[:16]


def fits():
    X, signal = make_table()
    three = np.digitize(signal, np.quantile(signal, [0.4, 0.7], method="lower"))
    two = (three > 0).astype(int)
    weights = np.random.default_rng(3).integers(1, 1 << 16, size=len(signal)) / 4096.0
    tree, regressor = DecisionTreeClassifier, DecisionTreeRegressor
    few = {"random_state": 0, "max_iter": 8}
    additive = {"random_state": 0, "outer_bags": 3, "max_iter": 40, "interactions": 2}
    together = {"n_estimators": 8, "early_stopping": False, "multi_strategy": "multi_output_tree", "defaults": "tuned"}
    # So many rows that gradients are rounded by chance.
    many, many_signal = make_table(20_000)
    high = (many_signal > many_signal.mean()).astype(int)
    return {
        "boosting, two classes": (HistGradientBoostingClassifier(**few), X, two, None),
        "boosting, three classes": (HistGradientBoostingClassifier(**few), X, three, None),
        "boosting, weighted": (HistGradientBoostingClassifier(**few), X, three, weights),
        "boosting, one tree for all": (GradientBoostingClassifier(random_state=0, **together), X, three, None),
        "boosting, squared error": (HistGradientBoostingRegressor(**few), X, signal, None),
        "boosting, huber": (HistGradientBoostingRegressor("huber", **few), X, signal, None),
        "boosting, poisson": (HistGradientBoostingRegressor("poisson", **few), X, signal - signal.min(), weights),
        "boosting, many rows": (HistGradientBoostingClassifier(early_stopping=False, **few), many, high, None),
        "additive, two classes": (ExplainableBoostingClassifier(**additive), X, two, None),
        "additive, three classes": (ExplainableBoostingClassifier(**additive), X, three, weights),
        "additive, squared error": (
            ExplainableBoostingRegressor(**{**additive, "interactions": [(0, 1), (1, 2)]}),
            X,
            signal,
            None,
        ),
        "gini": (tree(random_state=0), X, two, None),
        "gini, three classes": (tree(random_state=0), X, three, None),
        "gini, weighted": (tree(random_state=0), X, three, weights),
        "gini, drawn features": (tree(random_state=1, max_features=3), X, two, None),
        "entropy": (tree(criterion="entropy", random_state=0), X, three, None),
        "gain ratio": (tree(criterion="gain_ratio", random_state=0, max_depth=6), X, two, None),
        "error": (tree(criterion="error", random_state=0, max_depth=5), X, three, None),
        "exact": (tree(exact=True, random_state=0), X, two, None),
        "best first": (tree(max_leaf_nodes=40, random_state=0), X, two, None),
        "pruned": (tree(ccp_alpha=0.002, random_state=0), X, two, None),
        "random splits": (ExtraTreeClassifier(random_state=5), X, three, None),
        "squared error": (regressor(random_state=0, min_samples_leaf=3), X, signal, None),
        "squared error, weighted": (regressor(random_state=0, min_samples_leaf=3), X, signal, weights),
        "poisson": (regressor(criterion="poisson", random_state=0, max_depth=6), X, signal - signal.min(), None),
        "absolute error": (regressor(criterion="absolute_error", random_state=0, max_depth=4), X, signal, None),
        "two outputs": (regressor(random_state=0, max_depth=7), X, np.c_[signal, filled_first(X)], None),
    }


def filled_first(X):
    return np.nan_to_num(X[:, 3], nan=0.0)


DIGESTS = {
    "boosting, two classes": "4ca16a2306f3ce85",
    "boosting, three classes": "74b3b581b1a77230",
    "boosting, weighted": "c625cb10b9e94173",
    "boosting, one tree for all": "c173216b375ff06b",
    "boosting, squared error": "c1396ada20ee12ae",
    "boosting, huber": "511b6e2fe1ba5be4",
    "boosting, poisson": "73ac1baee06146ca",
    "boosting, many rows": "fd930bd3bae62140",
    "additive, two classes": "fdd61f2ff134f041",
    "additive, three classes": "f9ec9851735fadc1",
    "additive, squared error": "fbbddeb64d6f52ef",
    "gini": "a730db29e726a8ab",
    "gini, three classes": "d8718799d92f399e",
    "gini, weighted": "d213a1215c6e6af9",
    "gini, drawn features": "4ecf25cb9905d38d",
    "entropy": "790e6d17acdb11e5",
    "gain ratio": "d3bf6088f1922f36",
    "error": "64a1121489117afb",
    "exact": "a13e370716ef6bf0",
    "best first": "1524a43f96991ce9",
    "pruned": "be58fa4dd60684e2",
    "random splits": "c07d50c158960153",
    "squared error": "f6c9f9fc2bbb98ea",
    "squared error, weighted": "ed41345eafe0f903",
    "poisson": "202ac2973f9d2c06",
    "absolute error": "968f7c7a250244ce",
    "two outputs": "184adcbdbf0b3e65",
}


@pytest.mark.parametrize("name", list(DIGESTS))
def test_bytes_are_those_of_every_machine(name):
    model, X, y, weights = fits()[name]
    assert digest_trees(model.fit(X, y, sample_weight=weights)._trees) == DIGESTS[name]


if __name__ == "__main__":  # prints the table of digests
    for case, (model, X, y, weights) in fits().items():
        print(f'    "{case}": "{digest_trees(model.fit(X, y, sample_weight=weights)._trees)}",')
