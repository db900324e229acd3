"""Reports of Evidently on tables and predictions, as docs/howto/deployment.md shows them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import committee

pd = pytest.importorskip("pandas")
# Releases of Evidently that do not know the installed pandas fail while they are imported.
evidently: Any = pytest.importorskip("evidently", reason="Evidently cannot be imported", exc_type=ImportError)
presets: Any = pytest.importorskip("evidently.presets", exc_type=ImportError)


def test_a_shifted_column_and_its_predictions_drift() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(40.0, 10.0, 300), "area": rng.normal(size=300)})
    model = committee.RandomForestClassifier(20, random_state=0, n_jobs=1).fit(X, X["age"] > 40.0)

    def describe(rows: Any) -> Any:
        answered = rows.assign(probability=model.predict_proba(rows)[:, 1])
        columns = evidently.DataDefinition(numerical_columns=list(answered.columns))
        return evidently.Dataset.from_pandas(answered, data_definition=columns)

    later = pd.DataFrame({"age": rng.normal(55.0, 10.0, 300), "area": rng.normal(size=300)})
    found = evidently.Report([presets.DataDriftPreset()]).run(describe(later), describe(X)).dict()["metrics"]
    assert found[0]["value"]["count"] == 2.0
    p_values = {one["metric_name"].split("column=")[1].split(",")[0]: one["value"] for one in found[1:]}
    assert p_values["age"] < 1e-6
    assert p_values["probability"] < 1e-6
    assert p_values["area"] > 0.05
