"""BoosTexter on Reuters-21578, with other methods: `python benchmarks/boostexter.py`; --quick is a smoke test."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores
from benchmarks.measure import Job
from benchmarks.report import OURS, Case, Claim, Report, ratio, value
from benchmarks.suite import list_options, run_suite

CLASSES, LABELS = "reuters_r52", "reuters_r90_multilabel"
BAYES, THEIR_BERNOULLI = "scikit-learn, multinomial naive Bayes", "scikit-learn, Bernoulli naive Bayes"
THEIR_BOOST = "scikit-learn, AdaBoost of stumps"
KINDS = (OURS, f"{OURS}, abstaining", f"{OURS}, discrete")
OUR_BERNOULLI = f"{OURS}, Bernoulli naive Bayes"
R52, R90, FEW = "R52, 1000 rounds", "R90, 1000 rounds", "R52, 100 rounds"
WHOLE = "10,789 documents, 1000 rounds (scored in training)"
MEASURES = {
    "one_error": "one-error",
    "coverage": "coverage",
    "average_precision": "average precision",
    "hamming_loss": "Hamming loss",
    "micro_f1": "micro F1",
    "breakeven": "breakeven",
    "macro_f1": "macro F1",
}


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    n_rounds: int = 1000
    few_rounds: int = 100
    step: int = 1
    turns: int = 1


QUICK = Sizes(n_rounds=10, few_rounds=3, step=20)


@dataclass(frozen=True)
class TextReport(Report):
    """The report with the metrics of the paper."""

    def render(self) -> str:
        """The report as Markdown."""
        names = list(MEASURES.values())
        rows = ["", f"| what | who | {' | '.join(names)} | bound of the training error |"]
        rows.append("|---" * (len(names) + 3) + "|")
        for case in self.cases:
            for contender in case.jobs:
                outcome = self.outcomes[case.name][contender]
                cells = [f"{outcome['measures'][key]:.4f}" for key in MEASURES]
                bound = f"{outcome['bound']:.2e}" if "bound" in outcome else ""
                rows.append(f"| {case.name} | {contender} | {' | '.join(cells)} | {bound} |")
        rows += ["", "Score in the first table is one minus the one-error, for classes the accuracy."]
        return super().render() + "\n".join(rows) + "\n"


def list_cases(sizes: Sizes, threads: int) -> list[Case]:
    """All cases."""

    def case(title: str, name: str, who: tuple[str, ...], n_rounds: int, whole: bool = False) -> Case:
        options = {"data": {"name": name, "step": sizes.step, "whole": whole}, "n_rounds": n_rounds, "repeats": 1}
        jobs = {
            c: Job("benchmarks.boostexter_jobs:fit_texts", {"contender": c, "threads": threads, **options}, threads)
            for c in who
        }
        return Case(title, jobs)

    return [
        case(R52, CLASSES, (*KINDS, BAYES, OUR_BERNOULLI, THEIR_BERNOULLI), sizes.n_rounds),
        case(R90, LABELS, (*KINDS, BAYES), sizes.n_rounds),
        case(WHOLE, LABELS, (OURS,), sizes.n_rounds, whole=sizes.step == 1),
        case(FEW, CLASSES, (OURS, THEIR_BOOST), sizes.few_rounds),
    ]


def list_claims(quick: bool) -> list[Claim]:
    """The claims about the text classifier."""
    claims = [Claim(f"{FEW}, times faster than AdaBoost of stumps", ratio(FEW, THEIR_BOOST))]
    if quick:
        return claims
    return [
        Claim(f"{WHOLE}, seconds", value(WHOLE, OURS, "best"), 120.0, at_least=False, unit="s"),
        *(
            Claim(
                f"{case}, one-error of multinomial naive Bayes over ours",
                lambda outcomes, case=case: (
                    outcomes[case][BAYES]["measures"]["one_error"] / outcomes[case][OURS]["measures"]["one_error"]
                ),
                1.0,
            )
            for case in (R52, R90)
        ),
        *claims,
    ]


def main(words: list[str] | None = None) -> None:
    arguments = list_options(__doc__).parse_args(words)
    if not os.environ.get("COMMITTEE_DATA"):
        print("boostexter: skipped; COMMITTEE_DATA must name the folder with the Reuters data sets", file=sys.stderr)
        return
    sizes = QUICK if arguments.quick else Sizes()
    cases, claims = list_cases(sizes, min(2, len(list_cores()))), list_claims(arguments.quick)
    run_suite("boostexter", arguments, cases, claims, sizes.turns, make_report=TextReport)


if __name__ == "__main__":
    main()
