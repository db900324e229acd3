"""Write the tables of times in the README from benchmarks/results: `python -m benchmarks.readme` (or `make readme`).

A test checks that the README agrees with the results.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from benchmarks.report import OURS, RESULTS, show_seconds

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- times: begin (make readme) -->", "<!-- times: end -->"
PEERS = ("scikit-learn", "LightGBM", "XGBoost", "CatBoost")
#: Processors by the names of the system, and their headings.
PROCESSORS = {"x86_64": "x86-64", "aarch64": "64-bit ARM"}
#: Suite, case and its label in the README. Cases without a result are omitted.
ROWS = (
    ("trees", "fit 100,000 x 28, two classes", "decision tree, fit 100,000 rows"),
    ("forests", "fit, full trees", "random forest of 100 full trees, fit 100,000 rows"),
    ("forests", "fit, extra-trees", "100 extra-trees, fit 100,000 rows"),
    ("forests", "predict, a batch", "random forest, predict 50,000 rows"),
    ("forests", "predict, one row", "random forest, predict one row"),
    ("adaboost", "fit, many rows", "AdaBoost with stumps, fit"),
    ("adaboost", "predict, one row", "AdaBoost with stumps, predict one row"),
    ("boosting", "fit, 100,000 rows, 31 leaves, 2 threads", "boosting, 100 trees of 31 leaves, fit 100,000 rows"),
    ("boosting", "fit, 1,000,000 rows, 255 leaves, 2 threads", "boosting, 20 trees of 255 leaves, fit 1,000,000 rows"),
    ("boosting", "predict, a batch", "boosting, 500 trees, predict 50,000 rows"),
    ("boosting", "predict, one row", "boosting, 500 trees, predict one row"),
    ("stacking", "fit", "stacking of forest, extra-trees, logistic regression and naive Bayes, fit 20,000 rows"),
    ("inspection", "Shapley values", "Shapley values"),
)
#: The page of threads, on another machine with a later XGBoost: its section and row of Shapley values.
THREADS, EXPLAINED = "scaling", ("## Shapley values", "| explain, XGBoost |")


def render_table(folder: Path = RESULTS) -> str:
    """The text between the markers: for each processor the table, the hardware and the library versions."""
    tables = [table for processor, name in PROCESSORS.items() if (table := _render_processor(folder, processor, name))]
    if not tables:
        return "No suite has been run yet."
    note = "Best wall time; in brackets, the ratio to committee's. Same data and number of threads."
    return "\n\n".join([*tables, note])


def _render_processor(folder: Path, processor: str, name: str) -> str:
    lines: list[str] = []
    machines: list[dict[str, str]] = []
    for suite, case, label in ROWS:
        path = folder / f"{suite}_{processor}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text(encoding="utf-8"))
        outcomes = found["outcomes"].get(case, {})
        ours = outcomes.get(OURS, {}).get("best")
        if ours is None:
            continue
        cells = [_write_peer(outcomes.get(peer, {}).get("best"), ours) for peer in PEERS]
        lines.append(f"| {label} | **{show_seconds(ours)}** | {' | '.join(cells)} |")
        machines.append(found["machine"])
    if not lines:
        return ""
    head = [f"| {name} | committee | {' | '.join(PEERS)} |", "|---|---|" + "---|" * len(PEERS)]
    measured = f"Measured on {_describe_machines(machines)}.{_tell_later_version(folder, processor)}"
    return "\n".join([*head, *lines, "", measured])


def _tell_later_version(folder: Path, processor: str) -> str:
    """What the page of threads says of XGBoost's Shapley values, which a later version computes in less time."""
    page = folder / f"{THREADS}_{processor}.md"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    _, _, section = text.partition(f"\n{EXPLAINED[0]}")
    row = next((line for line in section.splitlines() if line.startswith(EXPLAINED[1])), "")
    ratios = [float(found) for found in re.findall(r"\(([0-9.]+) x\)", row)]
    machine = re.search(r"^processor (.+?), cores (\d+),.* xgboost ([0-9.]+),", text, re.MULTILINE)
    if not ratios or machine is None:
        return ""
    named, cores, version = machine.groups()
    return (
        f"\nWith XGBoost {version}, whose Shapley values take less time, the ratio is {min(ratios):.1f} to"
        f" {max(ratios):.1f} by 1 to {cores} threads of {named}"
        f" ([the page of threads](benchmarks/results/{page.name}))."
    )


def _write_peer(seconds: float | None, ours: float) -> str:
    if seconds is None:
        return ""
    ratio = seconds / ours
    return f"{show_seconds(seconds)} ({f'{ratio:,.0f}' if ratio >= 100 else f'{ratio:.3g}'})"


def _describe_machines(machines: list[dict[str, str]]) -> str:
    """Each machine once, with the versions of the libraries in all of its suites."""
    names = {"scikit-learn": "scikit-learn", "lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
    versions: dict[str, dict[str, None]] = {}
    for machine in machines:
        found = versions.setdefault(f"{machine['cores']} cores of {machine['processor']}", {})
        present = [key for key in names if machine.get(key, "absent") != "absent"]
        found.update(dict.fromkeys(f"{names[key]} {machine[key]}" for key in present))
    return "; ".join(f"{where} ({', '.join(found)})" for where, found in versions.items())


def fill(text: str, table: str) -> str:
    """The README with this table between its markers."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


if __name__ == "__main__":
    README.write_text(fill(README.read_text(encoding="utf-8"), render_table()), encoding="utf-8")
