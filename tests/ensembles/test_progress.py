"""Progress goes to whoever listens, and only there."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from committee import BaggingClassifier, CommitteeClassifier, GradientBoostingClassifier, RandomForestClassifier
from committee.ensembles.progress import listen

X, y = load_iris(return_X_y=True)


class Ear:
    def __init__(self) -> None:
        self.open_titles: list[str] = []
        self.heard: list[tuple[str, int, int, str]] = []

    def open(self, title: str, total: int) -> Callable[..., None]:
        self.open_titles.append(title)
        return lambda done, note="": self.heard.append((title, done, total, note))

    def close(self) -> None:
        self.open_titles.pop()


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(4, random_state=0),
        BaggingClassifier(n_estimators=4, random_state=0),
        GradientBoostingClassifier(n_estimators=4, early_stopping=False, random_state=0),
        CommitteeClassifier(n_members=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_listener_hears_a_fit(model: object, capsys: pytest.CaptureFixture[str]) -> None:
    ear, model = Ear(), clone(model)  # what a test is given outlives it, and a fit would with it
    with listen(ear):
        model.fit(X, y)
    assert ear.open_titles == []
    title, done, total, note = ear.heard[-1]
    assert done == total
    if isinstance(model, CommitteeClassifier):
        assert title == "Committee"
        assert note.startswith("boosting -0.")
    n_heard = len(ear.heard)
    silent = type(model)(**model.get_params()).fit(X, y)
    assert len(ear.heard) == n_heard
    np.testing.assert_array_equal(silent.predict_proba(X), model.predict_proba(X))
    assert capsys.readouterr().err == ""


def test_a_fit_that_fails_is_closed() -> None:
    ear = Ear()

    def fail(_: object) -> bool:
        raise RuntimeError("enough")

    with listen(ear), pytest.raises(RuntimeError, match="enough"):
        GradientBoostingClassifier(n_estimators=3, early_stopping=False).fit(X, y, callbacks=[fail])
    assert ear.open_titles == []
