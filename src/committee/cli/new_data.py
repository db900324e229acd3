"""Print what a report on new data found, or write it as JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from committee.cli.output import show_size
from committee.cli.show import make_text_table, show_omitted

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from committee.cli.report import NewDataFindings

__all__ = ["show_findings", "write_findings"]

_MOST_SHOWN = 12
_STYLES = {"moderate": "yellow", "large": "bold red"}


def show_findings(console: Console, found: NewDataFindings, path: Path) -> None:
    """Print the summary, the scores and the columns that have drifted.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    found : NewDataFindings
        From the report.
    path : pathlib.Path
        The page.
    """
    for number, part in enumerate((found, *found.others)):
        _show_scores(console, part, apart=number > 0)
    if found.drifted:
        console.print("\nColumns that have drifted from the training table:")
        drifts = make_text_table("column", "drift", ">PSI", "")
        for one in found.drifted[:_MOST_SHOWN]:
            index = "-" if math.isnan(one.stability) else f"{one.stability:.2f}"
            remark = one.remarks[0] if one.remarks else ""
            drifts.add_row(escape(one.name), f"[{_STYLES[one.level]}]{one.level}[/]", index, escape(remark))
        console.print(drifts)
        show_omitted(console, len(found.drifted), _MOST_SHOWN)
    console.print(f"\nReport written to [bold]{escape(str(path))}[/] ({show_size(found.n_bytes)})", soft_wrap=True)


def _show_scores(console: Console, found: NewDataFindings, *, apart: bool) -> None:
    if apart:
        console.print()
    for sentence in found.sentences:
        console.print(escape(sentence))
    if found.scores:
        console.print(f"\nScores on {found.n_rows:,} rows (± standard error):")
        scores = make_text_table("", ">here", ">naive", ">at the fit")
        for name, comparison in found.scores.items():
            known = None if found.training is None else found.training.scores.get(name)
            then = "-" if known is None else f"{known[0]:.4f} ± {known[1]:.4f}"
            here = f"{comparison.model.mean:.4f} ± {comparison.model.error:.4f}"
            scores.add_row(name, here, f"{comparison.baseline.mean:.4f}", then)
        console.print(scores)


def write_findings(found: NewDataFindings, path: Path) -> str:
    """What was found as one JSON document; the further targets are in a list.

    Parameters
    ----------
    found : NewDataFindings
        From the report.
    path : pathlib.Path
        The page.

    Returns
    -------
    str
        JSON.
    """
    document = {**_list_findings(found), "report": str(path)}
    if found.others:
        document["other_targets"] = [_list_findings(one) for one in found.others]
    return json.dumps(document, indent=2, ensure_ascii=False)


def _list_findings(found: NewDataFindings) -> dict[str, Any]:
    def number(value: float) -> float | None:
        return None if math.isnan(value) else value

    training: dict[str, Any] | None = None
    if found.training is not None:
        training = {"table": found.training.source, "rows": found.training.n_rows, "target": found.training.target}
    return {
        "rows": found.n_rows,
        "target": found.target,
        "summary": list(found.sentences),
        "training": training,
        "scores": {
            name: {
                "model": {"mean": one.model.mean, "standard_error": one.model.error},
                "naive": {"mean": one.baseline.mean, "standard_error": one.baseline.error},
            }
            for name, one in found.scores.items()
        },
        "drift": [
            {
                "column": one.name,
                "type": one.kind,
                "drift": one.level,
                "stability_index": number(one.stability),
                "distance": number(one.distance),
                "p_value": number(one.p_value),
                "missing": {"training": one.missing[0], "new": one.missing[1]},
                "remarks": list(one.remarks),
            }
            for one in found.drifts
        ],
    }
