"""The commands bench and reproduce; importing this module adds them to the command."""

from typing import Annotated

import typer

from committee.cli import options
from committee.cli.app import app
from committee.cli.errors import DATA
from committee.cli.output import check_output_path

_BENCH_EXAMPLES = """[bold]Examples[/]

  committee bench                              all cases, a few minutes

  committee bench --only boosting --rows 100000

  committee bench -o times                     also a page, data and a figure
"""


@app.command(epilog=_BENCH_EXAMPLES)
def bench(
    only: options.OnlyOption = None,
    rows: options.BenchRowsOption = 20_000,
    threads: options.ThreadsOption = None,
    quick: options.QuickOption = False,
    output: options.BenchOutOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Time forests, AdaBoost and boosting against other installed libraries.

    Each library runs in its own process on the same table with the same number of threads; the best time counts.
    """
    del debug  # read from sys.argv by `run`
    from committee.cli.bench.command import run_benchmark

    run_benchmark(only or [], quick, rows, threads, output, as_json)


_LAB_EXAMPLES = """[bold]Examples[/]

  committee lab

  committee lab 'data=spirals&method=forest&depth=8'

  committee lab --port 8765 --no-browser              print the address only
"""


@app.command(epilog=_LAB_EXAMPLES)
def lab(
    state: Annotated[
        str, typer.Argument(metavar="[STATE]", help="What to show: a link of the lab, or its part after #.")
    ] = "",
    port: Annotated[
        int, typer.Option("--port", metavar="P", min=0, max=65535, help="Port on this machine; 0: any that is free.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", metavar="", help="Do not open a browser.")] = False,
    debug: options.DebugOption = False,
) -> None:
    """Open a page on which one sees ensembles learn, round by round.

    Choose or draw points, choose a method, and step, play or scrub through its rounds. The page is served to this
    machine only and asks nothing of the network. Ctrl-C ends it.
    """
    del debug  # read from sys.argv by `run`
    from committee.cli.lab_command import serve_lab

    serve_lab(state, port, opens_browser=not no_browser)


_REPRODUCE_EXAMPLES = """[bold]Examples[/]

  committee reproduce R9                             three stumps, takes a second

  committee reproduce R1 R2 R3 --seeds 20

  committee reproduce all --out textbook.html        takes minutes; with figures
"""


@app.command(epilog=_REPRODUCE_EXAMPLES)
def reproduce(
    rows: options.ResultNamesArgument = None,
    seeds: options.NSeedsOption = 10,
    jobs: options.JobsOption = None,
    page: options.PageOutOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Reproduce published textbook results.

    Each number is shown as mean and standard deviation over seeds beside the published one, with a check.

    The exit code is 1 if a check fails.

    Tables that are not part of scikit-learn are read from the folder COMMITTEE_DATA; nothing is downloaded.
    """
    del debug  # read from sys.argv by `run`
    path = None if page is None else check_output_path(page)
    from committee.cli.reproduce.command import reproduce_results

    if not reproduce_results(rows or [], seeds, jobs, path, as_json=as_json):
        raise typer.Exit(DATA)
