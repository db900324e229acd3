"""``committee lab``: serve the page of the lab until the user ends it."""

from __future__ import annotations

import webbrowser

from rich.markup import escape

from committee.cli.errors import USAGE, CommandError
from committee.cli.show import make_console

__all__ = ["serve_lab"]


def serve_lab(state: str, port: int, *, opens_browser: bool) -> None:
    """Start the server, print the address, and serve until Ctrl-C.

    Parameters
    ----------
    state : str
        The part of a link after ``#``; empty for the first state.
    port : int
        Port on this machine; 0 takes a free one.
    opens_browser : bool
        Whether the page is opened in the user's browser.
    """
    from committee.lab import LabServer, read_link, write_link

    link = f"#{write_link(read_link(state.rpartition('#')[2]))}" if state else ""
    try:
        server = LabServer(port)
    except OSError as error:
        raise CommandError(
            f"The port {port} of this machine cannot be used: {error.strerror or error}.",
            "Choose another one with --port, or leave it out.",
            USAGE,
        ) from error
    with server:
        console = make_console()
        console.print(f"The lab is at {escape(server.address + link)}", soft_wrap=True, highlight=False)
        console.print("It answers on this machine only, to who has this address. Ctrl-C ends it.", soft_wrap=True)
        if opens_browser:
            webbrowser.open(server.address + link)
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            console.print("The lab has ended.")
