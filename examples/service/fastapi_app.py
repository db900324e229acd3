"""A service that predicts one row a request, with FastAPI: its pages of documentation know the columns of the model.

``MODEL=houses.committee uvicorn --app-dir examples/service fastapi_app:app``, then POST a row as JSON to ``/predict``:
``{"rooms": 3, "area": 81.5, "town": "Leiden"}``. ``/docs`` lists the columns that a row has.
"""

import os
from typing import Any

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, ConfigDict, create_model

import committee
from committee.exceptions import CommitteeError

#: A value of a row: a number, a name of a category, or nothing where it is missing.
Value = float | str | bool | None


def describe_row(columns: list[str]) -> type[BaseModel]:
    """The type of a row: every column of the model, no other, each may be missing (null)."""
    fields: dict[str, Any] = {f"column_{k}": (Value, ...) for k in range(len(columns))}
    # Names of columns need not be names of Python.
    names = dict(zip(fields, columns, strict=True))
    config = ConfigDict(extra="forbid", alias_generator=names.__getitem__)
    return create_model("Row", __config__=config, **fields)


def make_app(predictor: Any) -> FastAPI:
    """The application around a prepared predictor of a model that was fitted to named columns."""
    application = FastAPI(title="Predictions")
    classes = [str(label) for label in getattr(predictor, "classes_", [])]
    Row = describe_row(list(predictor.columns))

    # Not a coroutine: FastAPI calls it in a thread of its own, and threads may share a predictor.
    @application.post("/predict")
    def predict(row: Row) -> dict[str, Any]:  # type: ignore[valid-type]
        values = row.model_dump(by_alias=True)  # type: ignore[attr-defined]
        try:
            if classes:
                shares = predictor.predict_proba_one(values).tolist()
                return {"probabilities": dict(zip(classes, shares, strict=True))}
            return {"value": predictor.predict_one(values)}
        except (ValueError, CommitteeError) as error:
            raise HTTPException(400, str(error)) from error

    @application.get("/health")
    def report_health() -> dict[str, Any]:
        return {"columns": predictor.columns}

    return application


if "MODEL" in os.environ:
    app = make_app(committee.load(os.environ["MODEL"]).predictor())
