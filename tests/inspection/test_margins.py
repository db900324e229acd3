"""Arguments of the functions for margins, row weights and suspected labels."""

import numpy as np
import pytest

import committee
from committee.exceptions import DataError, ParameterTypeError
from committee.inspection import measure_margins, suspect_labels, weigh_rows

FUNCTIONS = (measure_margins, suspect_labels, weigh_rows)


@pytest.mark.parametrize("measure", FUNCTIONS)
def test_a_model_is_refused(measure: object) -> None:
    model = committee.AdaBoostClassifier()
    with pytest.raises(ParameterTypeError, match=r"shape \(n_rows, n_classes\); got AdaBoostClassifier.*predict_proba"):
        measure(model, [0, 1])  # type: ignore[operator]


@pytest.mark.parametrize("measure", FUNCTIONS)
@pytest.mark.parametrize(
    ("labels", "message"), [([0, 1], r"\(3, 2\) and \(2,\)"), ([0, 1, 2], "from 0 to 1"), (["a", "b", "a"], "numbers")]
)
def test_labels_that_do_not_go_with_the_scores(measure: object, labels: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        measure(np.eye(3)[:, :2], labels)  # type: ignore[operator]


def test_lists_will_do() -> None:
    assert measure_margins([[0.75, 0.25]], [0]).tolist() == [0.5]  # type: ignore[arg-type]
