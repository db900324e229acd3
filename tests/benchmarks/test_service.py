"""The example service answers with predictions, and with sentences."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_diabetes, load_iris

import committee

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "service"


@pytest.fixture
def make_service(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    sys.modules.pop("app", None)
    import app

    return app.Service


def ask(service: Any, method: str, path: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(service({"type": "http", "method": method, "path": path}, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_probabilities(make_service: Any) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = committee.RandomForestClassifier(5, random_state=0).fit(X, y)
    service = make_service(model.predictor())
    row = X.iloc[70].to_dict()
    wanted = dict(zip("012", model.predict_proba(X.iloc[70:71])[0].tolist(), strict=True))
    assert ask(service, "POST", "/predict", json.dumps(row).encode()) == (200, {"probabilities": wanted})
    assert ask(service, "GET", "/health") == (200, {"columns": list(X.columns)})
    assert ask(service, "GET", "/")[0] == 404


def test_values_and_sentences(make_service: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = committee.HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    service = make_service(model.predictor())
    status, answer = ask(service, "POST", "/predict", json.dumps(X[3].tolist()).encode())
    assert (status, answer["value"]) == (200, model.predict(X[3:4])[0])
    for body in (b"{", b"3", b"[1, 2]", b'{"x0": 1}', b'["a"' + b", 1" * 9 + b"]"):
        status, answer = ask(service, "POST", "/predict", body)
        assert status == 400
        assert answer["error"]


def test_the_same_service_with_fastapi(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi", reason="the package fastapi is not installed")
    testclient = pytest.importorskip("fastapi.testclient", reason="httpx, which FastAPI tests with, is not installed")
    monkeypatch.syspath_prepend(str(FOLDER))
    import fastapi_app

    X, y = load_iris(return_X_y=True, as_frame=True)
    model = committee.RandomForestClassifier(5, random_state=0).fit(X, y)
    client = testclient.TestClient(fastapi_app.make_app(model.predictor()))
    row = X.iloc[70].to_dict()
    wanted = dict(zip("012", model.predict_proba(X.iloc[70:71])[0].tolist(), strict=True))
    answer = client.post("/predict", json=row)
    assert (answer.status_code, answer.json()) == (200, {"probabilities": wanted})
    assert client.post("/predict", json={**row, X.columns[0]: None}).status_code == 200
    assert client.post("/predict", json={**row, X.columns[0]: "wide"}).status_code == 400
    assert client.post("/predict", json={**row, "other": 1.0}).status_code == 422
    assert client.get("/health").json() == {"columns": list(X.columns)}
    schema = client.get("/openapi.json").json()["components"]["schemas"]["Row"]
    assert list(schema["properties"]) == list(X.columns)
    values = committee.HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    client = testclient.TestClient(fastapi_app.make_app(values.predictor()))
    assert client.post("/predict", json=row).json() == {"value": values.predict(X.iloc[70:71])[0]}
