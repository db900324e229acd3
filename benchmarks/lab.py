"""Time of an answer of the lab: 500 points and 200 rounds, from the request to the last byte, on loopback.

``python -m benchmarks.lab`` prints a table with a row for each method: the median and the largest time of some answers,
each with a seed of its own, so that none was fitted before, and their processor time, which other processes disturb
less. ``--write`` puts the table into results/lab.md.
"""

import argparse
import http.client
import json
import statistics
import threading
import time
from pathlib import Path

from benchmarks.machine import measure_load, show_machine
from committee.lab import LabServer

RESULTS = Path(__file__).parent / "results"
GOAL_MS = 100.0
N_POINTS, N_ROUNDS = 500, 200
PLANE: dict[str, dict[str, object]] = {
    "AdaBoost, stumps": {"method": "adaboost", "depth": 1},
    "AdaBoost, depth 2": {"method": "adaboost", "depth": 2},
    "AdaBoost, depth 3": {"method": "adaboost", "depth": 3},
    "AdaBoost discrete, depth 2": {"method": "adaboost", "depth": 2, "algorithm": "discrete"},
    "AdaBoost SAMME.R, depth 2": {"method": "adaboost", "depth": 2, "algorithm": "samme.r", "rate": 0.5},
    "AdaBoost real, depth 2": {"method": "adaboost", "depth": 2, "algorithm": "real"},
    "AdaBoost gentle, depth 2": {"method": "adaboost", "depth": 2, "algorithm": "gentle"},
    "AdaBoost logit, depth 2": {"method": "adaboost", "depth": 2, "algorithm": "logit"},
}
LINE: dict[str, dict[str, object]] = {
    "AdaBoost R2, depth 3": {"method": "adaboost", "depth": 3},
    "AdaBoost R2, depth 6, all rounds": {"method": "adaboost", "depth": 6, "rate": 0.05},
    "AdaBoost RT, depth 3": {"method": "adaboost", "depth": 3, "algorithm": "rt"},
}
BOTH: dict[str, dict[str, object]] = {
    "gradient boosting, depth 2": {"method": "boosting", "depth": 2, "rate": 0.2},
    "gradient boosting, depth 6": {"method": "boosting", "depth": 6, "rate": 0.2},
    "bagging, depth 8": {"method": "bagging", "depth": 8},
    "random forest, depth 8": {"method": "forest", "depth": 8},
    "extra-trees, depth 8": {"method": "extra_trees", "depth": 8},
    "voting of five": {"method": "voting", "depth": 4},
    "stacking of five": {"method": "stacking", "depth": 4},
}


def time_answers(server: LabServer, state: dict[str, object], n_answers: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each answer, and of the processor; the first answer, which loads modules, is left out."""
    times, costs = [], []
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for seed in range(n_answers + 1):
        body = json.dumps({"state": {**state, "seed": seed}})
        start, cost = time.perf_counter(), time.process_time()
        connection.request("POST", "/api/state", body, {"X-Lab-Token": server.token})
        answer = connection.getresponse()
        content = answer.read()
        times.append(1000.0 * (time.perf_counter() - start))
        costs.append(1000.0 * (time.process_time() - cost))
        assert answer.status == 200, content
    connection.close()
    return times[1:], costs[1:]


def measure(n_answers: int) -> list[str]:
    """The rows of the table; they are printed as they come."""
    rows = [
        f"| points | method | median, ms | largest, ms | processor, ms | within {GOAL_MS:.0f} ms |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(rows))
    with LabServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            for data, settings in (("moons", {**PLANE, **BOTH}), ("sine", {**LINE, **BOTH})):
                for name, chosen in settings.items():
                    state = {"data": data, "n": N_POINTS, "rounds": N_ROUNDS, **chosen}
                    times, costs = time_answers(server, state, n_answers)
                    middle, cost = statistics.median(times), statistics.median(costs)
                    within = "yes" if middle <= GOAL_MS else "no"
                    rows.append(f"| {data} | {name} | {middle:.0f} | {max(times):.0f} | {cost:.0f} | {within} |")
                    print(rows[-1], flush=True)
        finally:
            server.shutdown()
            thread.join()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=10, help="answers for each method")
    parser.add_argument("--write", action="store_true", help="put the table into results/lab.md")
    given = parser.parse_args()
    load = measure_load()
    rows = measure(given.answers)
    if not given.write:
        return
    text = f"""# Answers of the lab

`python -m benchmarks.lab --write`

Time from the request to the last byte, on loopback, for {N_POINTS} training points, as many test points and {N_ROUNDS}
rounds: drawing the points, fitting, the boundary after the round that is shown, the curves of all rounds, and the code.
Medians over {given.answers} answers with different seeds. "processor" is the time on all cores. Voting and stacking
have five members, so that their rounds are five. The goal is {GOAL_MS:.0f} ms. The boundaries of the other rounds, for
playing, and bias and variance over bootstrap samples are asked for afterwards and are not in these times.

"""
    machine = f"\n{show_machine()}; load before the run {load:.2f}.\n"
    (RESULTS / "lab.md").write_text(text + "\n".join(rows) + "\n" + machine, encoding="utf-8")


if __name__ == "__main__":
    main()
