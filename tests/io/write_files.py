"""Writes the small models that are kept for ever, with rows and the answers to them.

Usage: python -m tests.io.write_files. Run once for each version of the format, before the first release that writes
it; what lies in ``files/v<n>`` of an earlier version is never written again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import committee
from committee.io.container import FORMAT_VERSION
from tests.io.models import ask_model, fit_model, make_data, make_frame

FOLDER = Path(__file__).parent / "files"
N_ROWS = 60
MODELS: dict[str, Any] = {
    "tree_classes": committee.DecisionTreeClassifier(max_depth=4, class_weight={"yes": 2.0, "no": 1.0}),
    "tree_values": committee.DecisionTreeRegressor(max_leaf_nodes=9, criterion="absolute_error"),
    "extra_tree": committee.ExtraTreeClassifier(max_depth=5, random_state=0),
    "stump": committee.DecisionStumpClassifier(),
    "forest_classes": committee.RandomForestClassifier(3, oob_score=True, calibration="isotonic", random_state=0),
    "forest_values": committee.RandomForestRegressor(3, oob_score=True, keep_leaf_samples=True, random_state=0),
    "forest_stratified": committee.ExtraTreesClassifier(
        3, bootstrap="stratified", random_state=np.random.RandomState(1)
    ),
    "bag_of_trees": committee.BaggingClassifier(n_estimators=3, max_features=0.5, random_state=0),
    "bag_of_forests": committee.BaggingRegressor(committee.ExtraTreesRegressor(2), n_estimators=2, random_state=0),
    "naive_bayes": committee.BernoulliNB(binarize=0.0),
    "voting": committee.VotingRegressor(
        [("deep", committee.DecisionTreeRegressor(max_depth=5)), ("flat", committee.DecisionTreeRegressor(max_depth=1))]
    ),
    "words": committee.BoosTexterClassifier(n_estimators=4),
}


def read_rows(stored: Any) -> Any:
    """The rows to ask about: a matrix, or a frame from its columns."""
    if "X" in stored:
        return stored["X"]
    return pd.DataFrame({name.removeprefix("column "): stored[name] for name in stored if name.startswith("column ")})


def main() -> None:
    folder = FOLDER / f"v{FORMAT_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    # One at a time would allow a new kind of model to be added to an old version.
    for name, model in MODELS.items():
        if (folder / f"{name}.committee").exists():
            continue
        framed = name in ("tree_classes", "forest_stratified")
        X, y = (make_frame if framed else make_data)(model, N_ROWS)
        fit_model(model, (X, y))
        committee.save(model, folder / f"{name}.committee")
        columns = {f"column {c}": X[c].to_numpy().astype("U5" if c == "colour" else float) for c in X} if framed else {}
        answers = {f"answer {key}": value for key, value in ask_model(model, X[:20]).items() if value.ndim}
        rows = {key: value[:20] for key, value in columns.items()} if framed else {"X": X[:20]}
        np.savez_compressed(folder / f"{name}.npz", **rows, **answers)


if __name__ == "__main__":
    main()
