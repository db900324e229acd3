"""How deep should a tree be? Training and test accuracy against depth, on the bundled breast-cancer table.

Run it with the plot extra installed; it writes overfitting.png into the current folder.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_validate

from committee import DecisionTreeClassifier
from committee.datasets import load_table


def main() -> None:
    table = load_table("breast_cancer")
    depths = np.arange(1, 11)
    scores = [
        cross_validate(
            DecisionTreeClassifier(max_depth=int(depth), random_state=0),
            table.data,
            table.target,
            cv=10,
            return_train_score=True,
        )
        for depth in depths
    ]
    for part in ("train", "test"):
        values = np.array([score[f"{part}_score"] for score in scores])
        error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        plt.errorbar(depths, values.mean(axis=1), error, label=part, capsize=3)
    plt.xlabel("max_depth")
    plt.ylabel("accuracy")
    plt.legend()
    plt.savefig("overfitting.png", dpi=150)


if __name__ == "__main__":
    main()
