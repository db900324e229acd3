"""A service that predicts one row a request: an ASGI application without a framework.

``MODEL=houses.committee uvicorn --app-dir examples/service app:app``, then POST a row as JSON to ``/predict``:
``{"rooms": 3, "area": 81.5, "town": "Leiden"}``. GET ``/health`` says which columns it wants.
"""

import json
import os
from typing import Any

import committee
from committee.exceptions import CommitteeError


class Service:
    """The application: a prepared predictor behind two paths; it holds no state, so that any number may run."""

    def __init__(self, predictor: Any) -> None:
        self.predictor = predictor
        self.classes = [str(label) for label in getattr(predictor, "classes_", [])]

    def answer(self, body: bytes) -> tuple[int, dict[str, Any]]:
        try:
            row = json.loads(body)
            if not isinstance(row, dict | list):
                return 400, {"error": "A row is a JSON object or a list."}
            if self.classes:
                shares = self.predictor.predict_proba_one(row).tolist()
                return 200, {"probabilities": dict(zip(self.classes, shares, strict=True))}
            return 200, {"value": self.predictor.predict_one(row)}
        except (ValueError, CommitteeError) as error:
            return 400, {"error": str(error)}

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                kind = (await receive())["type"].rpartition(".")[2]
                await send({"type": f"lifespan.{kind}.complete"})
                if kind == "shutdown":
                    return
        body, more = b"", scope["method"] == "POST"
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] == "/predict" and scope["method"] == "POST":
            status, answer = self.answer(body)
        elif scope["path"] == "/health":
            status, answer = 200, {"columns": self.predictor.columns}
        else:
            status, answer = 404, {"error": "POST /predict or GET /health."}
        content = json.dumps(answer).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})


def make_app() -> Service:
    return Service(committee.load(os.environ["MODEL"]).predictor())


if "MODEL" in os.environ:
    app = make_app()
