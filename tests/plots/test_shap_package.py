"""Plots of the package shap drawn from Shapley values of this library, as docs/howto/deployment.md shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from committee.inspection import shap_values

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
shap: Any = pytest.importorskip("shap", reason="the package shap is not installed")
pd = pytest.importorskip("pandas")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

SMALL = {"max_iter": 10, "random_state": 0, "n_jobs": 1}


@pytest.fixture(autouse=True)
def close_figures() -> Any:
    plt.close("all")
    yield
    plt.close("all")


def make_table() -> Any:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(40.0, 10.0, 200), "area": rng.normal(size=200), "idle": rng.normal(size=200)})
    X["kind"] = pd.Categorical(rng.choice(["flat", "house", "loft"], 200))
    X.loc[::17, "area"] = np.nan
    return X


def make_target(X: Any) -> Any:
    return 0.1 * X["age"].to_numpy() + 2.0 * (X["kind"] == "loft").to_numpy() + X["area"].fillna(0.0).to_numpy()


def draw(plot: Any, path: Path, *given: Any, **options: Any) -> Any:
    """Draw into a file, which must hold a picture; returns the axes."""
    axes = plot(*given, show=False, **options)
    plt.savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert plt.imread(path)[..., :3].std() > 0.01
    return axes


def read_labels(axes: Any) -> set[str]:
    """Names of the rows of a plot, without the values that a waterfall writes before them."""
    return {label.get_text().split("=")[-1].strip() for label in axes.get_yticklabels()} - {""}


def make_explanation() -> tuple[Any, Any]:
    X = make_table()
    model = committee.HistGradientBoostingRegressor(**SMALL).fit(X, make_target(X))
    found = shap_values(model, X)
    np.testing.assert_allclose(found.predictions, model.predict(X), atol=1e-9)
    return found, found.to_explanation()


def test_a_bar_plot_shows_the_mean_absolute_values(tmp_path: Path) -> None:
    found, explanation = make_explanation()
    axes = draw(shap.plots.bar, tmp_path / "bar.png", explanation)
    assert read_labels(axes) == set(found.feature_names)
    widths = sorted(patch.get_width() for patch in axes.patches if patch.get_width() > 0)
    expected = sorted(mean for mean in np.abs(found.values).mean(axis=0) if mean > 0)
    np.testing.assert_allclose(widths, expected, rtol=1e-9)


def test_a_beeswarm_has_a_dot_for_each_row_and_feature(tmp_path: Path) -> None:
    X = make_table().drop(columns="kind")
    model = committee.RandomForestRegressor(10, random_state=0, n_jobs=1).fit(X, X["age"])
    found = shap_values(model, X)
    axes = draw(shap.plots.beeswarm, tmp_path / "beeswarm.png", found.to_explanation())
    assert read_labels(axes) == set(found.feature_names)
    drawn = np.concatenate([np.asarray(dots.get_offsets())[:, 0] for dots in axes.collections])
    np.testing.assert_allclose(np.sort(drawn), np.sort(found.values.ravel()), atol=1e-9)


def test_a_waterfall_ends_at_the_prediction_and_names_categories(tmp_path: Path) -> None:
    found, explanation = make_explanation()
    row = int(np.flatnonzero(make_table()["kind"] == "loft")[0])
    axes = draw(shap.plots.waterfall, tmp_path / "waterfall.png", explanation[row])
    assert read_labels(axes) == set(found.feature_names)
    assert any("loft" in label.get_text() for label in axes.get_yticklabels())
    written = " ".join(text.get_text() for part in axes.figure.axes for text in part.get_xticklabels())
    assert f"{found.predictions[row]:.3f}".rstrip("0") in written


def test_each_class_has_plots_of_its_own(tmp_path: Path) -> None:
    X = make_table()
    y = np.digitize(make_target(X), [3.5, 5.0])
    model = committee.HistGradientBoostingClassifier(**SMALL).fit(X, np.array(["low", "middle", "high"])[y])
    found = shap_values(model, X)
    explanation = found.to_explanation()
    assert explanation.output_names == ["high", "low", "middle"]
    for output, name in enumerate(explanation.output_names):
        np.testing.assert_array_equal(explanation[:, :, name].values, found.of_output(output).values)
    axes = draw(shap.plots.bar, tmp_path / "bar.png", explanation[:, :, "high"])
    assert read_labels(axes) == set(found.feature_names)
