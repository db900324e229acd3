"""Time of an answer of the lab: 500 points and 200 rounds, from the request to the last byte, on loopback.

``python -m benchmarks.lab`` prints a table: the median and the largest of some answers for each method, each with
parameters of its own, so that none was fitted before.
"""

import argparse
import http.client
import json
import statistics
import threading
import time

from committee.lab import LabServer

GOAL_MS = 100.0
SETTINGS: dict[str, dict[str, object]] = {
    "adaboost": {"depth": 1},
    "adaboost depth 3": {"method": "adaboost", "depth": 3},
    "boosting": {"depth": 2, "rate": 0.2},
    "bagging": {"depth": 8},
    "forest": {"depth": 8},
    "extra_trees": {"depth": 8},
    "voting": {"depth": 4, "rounds": 5},
    "stacking": {"depth": 4, "rounds": 5},
}


def time_answers(server: LabServer, state: dict[str, object], n_answers: int) -> list[float]:
    """Milliseconds of each answer; the first, which loads modules, is left out."""
    times = []
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for seed in range(n_answers + 1):
        body = json.dumps({"state": {**state, "seed": seed}})
        start = time.perf_counter()
        connection.request("POST", "/api/state", body, {"X-Lab-Token": server.token})
        answer = connection.getresponse()
        content = answer.read()
        times.append(1000.0 * (time.perf_counter() - start))
        assert answer.status == 200, content
    return times[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=10, help="answers for each method")
    n_answers = parser.parse_args().answers
    print(f"| data | method | median ms | largest ms | within {GOAL_MS:.0f} ms |\n|---|---|---|---|---|")
    with LabServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for data in ("moons", "sine"):
                for name, chosen in SETTINGS.items():
                    state = {"data": data, "n": 500, "rounds": 200, "method": name, **chosen}
                    times = time_answers(server, state, n_answers)
                    middle = statistics.median(times)
                    print(f"| {data} | {name} | {middle:.0f} | {max(times):.0f} | {middle <= GOAL_MS} |", flush=True)
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    main()
