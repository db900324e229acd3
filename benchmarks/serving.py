"""Load the example service on loopback: `python -m benchmarks.serving`. Needs uvicorn.

One server process, clients that keep their connections and wait for each answer before they ask again. The same
service is run with LightGBM and onnxruntime behind it, where they are installed. ``--write`` puts the table into
results/serving.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import committee

HERE = Path(__file__).resolve().parent
N_COLUMNS = 20


def draw() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, N_COLUMNS))
    return X, (X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)


def make_app(kind: str, folder: Path) -> Any:
    """The service of the examples, with another library in place of the predictor."""
    sys.path.insert(0, str(HERE.parent / "examples" / "service"))
    from app import Service

    if kind == "committee":
        return Service(committee.load(folder / "model.committee").predictor())
    if kind == "lightgbm":
        import lightgbm

        booster = lightgbm.Booster(model_file=str(folder / "model.txt"))

        def ask(row: Any) -> np.ndarray:
            p = booster.predict(np.array([list(row.values())]), num_threads=1)[0]
            return np.array([1.0 - p, p])
    else:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

        def ask(row: Any) -> np.ndarray:
            return np.asarray(session.run(["probabilities"], {"X": np.array([list(row.values())], float)})[0][0])

    other = type("Other", (), {"predict_proba_one": staticmethod(ask), "classes_": [0, 1], "columns": []})
    return Service(other())


async def run_client(port: int, body: bytes, until: float, times: list[float]) -> int:
    """Ask until the time is over; how many answers were no answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    failed = 0
    request = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    while time.perf_counter() < until:
        start = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        failed += not head.startswith(b"HTTP/1.1 200")
        length = next(
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        )
        await reader.readexactly(length)
        times.append(time.perf_counter() - start)
    writer.close()
    return failed


async def load(port: int, body: bytes, n_clients: int, seconds: float) -> tuple[list[float], int]:
    """Seconds of every answer, and how many failed."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    failed = await asyncio.gather(*(run_client(port, body, until, times) for _ in range(n_clients)))
    return times, sum(failed)


def wait_for(server: subprocess.Popen[bytes], port: int, body: bytes) -> None:
    """Until the server answers; a minute at most."""
    until = time.perf_counter() + 60.0
    while time.perf_counter() < until:
        time.sleep(0.1)
        if server.poll() is not None:
            raise RuntimeError("The server has ended; see above.")
        try:
            asyncio.run(load(port, body, 1, 0.05))
            return
        except OSError:
            continue
    raise TimeoutError("The server does not answer.")


def measure(kind: str, folder: Path, port: int, seconds: float) -> list[str]:
    env = {**os.environ, "SERVED": kind, "FOLDER": str(folder)}
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(HERE), "serving:served", "--factory"]
    lines: list[str] = []
    server = subprocess.Popen([*command, "--port", str(port), "--log-level", "error"], env=env)
    body = json.dumps({f"x{k}": 0.1 * k for k in range(N_COLUMNS)}).encode()
    try:
        wait_for(server, port, body)
        for n_clients in (1, 16):
            times, failed = asyncio.run(load(port, body, n_clients, seconds))
            p50, p99 = np.percentile(np.array(times) * 1000, [50, 99])
            rate = len(times) / seconds
            lines.append(f"| {kind} | {n_clients} | {rate:,.0f} | {p50:.2f} | {p99:.2f} | {failed} |")
            print(lines[-1], flush=True)
    finally:
        server.terminate()
        server.wait()
    return lines


def served() -> Any:
    return make_app(os.environ["SERVED"], Path(os.environ["FOLDER"]))


def measure_all(seconds: float, port: int, folder: Path) -> list[str]:
    """The lines of the table, for every library that is installed."""
    X, y = draw()
    kinds = ["committee"]
    model = committee.HistGradientBoostingClassifier(max_iter=100).fit(X, y)
    committee.save(model, folder / "model.committee")
    try:
        committee.io.to_onnx(model, folder / "model.onnx")
        import onnxruntime  # noqa: F401

        kinds.append("onnxruntime")
    except ImportError:
        pass
    try:
        import lightgbm

        lightgbm.LGBMClassifier(n_estimators=100, verbose=-1).fit(X, y).booster_.save_model(folder / "model.txt")
        kinds.append("lightgbm")
    except ImportError:
        pass
    lines = ["| behind the service | clients | requests/s | p50 ms | p99 ms | failed |", "|---|--:|--:|--:|--:|--:|"]
    print(*lines, sep="\n", flush=True)
    for number, kind in enumerate(kinds):
        lines += measure(kind, folder, port + number, seconds)
    return lines


def write_page(lines: list[str], seconds: float, load: float) -> None:
    """Put the table into results/serving.md."""
    from benchmarks.machine import show_machine

    text = f"""# A service on loopback

`python -m benchmarks.serving --write`

The service of `examples/service/app.py` under uvicorn, one process: a row of {N_COLUMNS} numbers comes as JSON, the
probabilities of two classes go back. 100 boosted trees; LightGBM has a model of its own with as many. Clients keep
their connections and ask again as soon as they have an answer, {seconds:g} seconds for each line; they run on the same
machine. An answer other than 200 is counted as failed.

"""
    page = text + "\n".join(lines) + f"\n\n{show_machine()}; load before the run {load:.2f}.\n"
    (HERE / "results" / "serving.md").write_text(page, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each line of the table")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--write", action="store_true", help="put the table into results/serving.md")
    given = parser.parse_args()
    load = 0.0
    if given.write:
        from benchmarks.machine import measure_load

        load = measure_load()
    with tempfile.TemporaryDirectory() as name:
        lines = measure_all(given.seconds, given.port, Path(name))
    if given.write:
        write_page(lines, given.seconds, load)


if __name__ == "__main__":
    main()
