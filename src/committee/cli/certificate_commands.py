"""The commands about certificates: verify, sign and card; importing this module adds them to the command."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from committee.cli import options
from committee.cli.app import app
from committee.cli.errors import DATA, USAGE, CommandError
from committee.cli.output import check_output_path, make_write_error
from committee.cli.problem import Roles
from committee.cli.show import make_console
from committee.cli.text_format import TextReading

_KeyFile = Annotated[
    str | None, typer.Option("--key", metavar="PEM", help="Public Ed25519 key of the signer: check MODEL.sig too.")
]
_SignatureFile = Annotated[
    str | None, typer.Option("--signature", metavar="FILE", help="The signature; by default MODEL.sig.")
]

_VERIFY_EXAMPLES = """[bold]Examples[/]

  committee verify houses.committee houses.csv         fit again and compare

  committee verify houses.committee --key public.pem   only the signature
"""


@app.command("verify", epilog=_VERIFY_EXAMPLES)
def verify_certificate(
    model: options.ModelFileArgument,
    table: Annotated[str | None, typer.Argument(metavar="[TABLE]", help="The training table.")] = None,
    target: options.TargetOption = None,
    groups: options.GroupsOption = None,
    weights: options.WeightsOption = None,
    drop: options.DropOption = None,
    query: options.QueryOption = None,
    event: options.EventOption = None,
    key: _KeyFile = None,
    signature: _SignatureFile = None,
    encoding: options.EncodingOption = "utf-8",
    header: options.HeaderOption = None,
    trust: options.TrustOption = None,
    as_json: options.AsJsonOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Check that a model is what its certificate says, by fitting it again.

    The table is compared with the digests in the file, column by column, and the model with that of a new fit.

    The exit code is 1 if anything differs.
    """
    del debug  # read from sys.argv by `run`
    from committee.cli.certificates import show_outcome, verify_file

    asked = Roles(target, groups, weights, drop or (), query, event)
    outcome = verify_file(model, table, asked, TextReading(encoding, header), trust or [], key=key, signature=signature)
    if as_json:
        typer.echo(outcome.write_json())
    else:
        show_outcome(make_console(), outcome)
    if not outcome.passed:
        raise typer.Exit(DATA)


_SIGN_EXAMPLES = """[bold]Examples[/]

  openssl genpkey -algorithm ed25519 -out private.pem

  openssl pkey -in private.pem -pubout -out public.pem

  committee sign houses.committee --key private.pem
"""


@app.command(epilog=_SIGN_EXAMPLES)
def sign(
    model: options.ModelFileArgument,
    key: Annotated[str, typer.Option("--key", metavar="PEM", help="Private Ed25519 key, without a password.")],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="The signature; by default MODEL.sig.")
    ] = None,
    debug: options.DebugOption = False,
) -> None:
    """Sign a model file with an Ed25519 key; the signature is a file of 64 bytes."""
    del debug  # read from sys.argv by `run`
    if not Path(model).is_file():
        raise CommandError(f"There is no model file '{model}'.", "committee fit -o writes one.", USAGE)
    from committee.io.certificates import sign_file
    from committee.io.certificates.signing import SIGNATURE_SUFFIX
    from committee.io.description import describe_file

    place = check_output_path(model + SIGNATURE_SUFFIX if output is None else output, model, key)
    describe_file(model)  # a damaged file is not signed
    sign_file(model, key, place)
    make_console().print(f"Signature written to [bold]{escape(str(place))}[/]", soft_wrap=True)


_CARD_EXAMPLES = """[bold]Examples[/]

  committee card houses.committee

  committee card houses.committee -o houses.card.json
"""


@app.command(epilog=_CARD_EXAMPLES)
def card(
    model: options.ModelFileArgument,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it here.")] = None,
    trust: options.TrustOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Print the model card of a file as JSON: scores, columns, versions, certificate, licence of the data."""
    del debug  # read from sys.argv by `run`
    path = None if output is None else check_output_path(output, model)
    from committee.cli.certificates import read_card

    text = json.dumps(read_card(model, trust or []), indent=2, ensure_ascii=False, default=str)
    if path is None:
        typer.echo(text)
        return
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise make_write_error(path, error) from error
    make_console().print(f"Model card written to [bold]{escape(str(path))}[/]", soft_wrap=True)
