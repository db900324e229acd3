"""The server of the lab: one process on loopback, the page's files, and four requests that answer with JSON."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from threadpoolctl import ThreadpoolController

from committee.exceptions import CommitteeError
from committee.lab.answers import FittedState, answer_bias, answer_film, answer_state
from committee.lab.csv_points import MOST_BYTES, read_csv_points
from committee.lab.recording import choose_sizes
from committee.lab.state import describe_choices, read_fields

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

__all__ = ["LabServer"]

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_N_KEPT = 8
_TOKEN_HEADER = "X-Lab-Token"
# The page may load its own files and ask its own server, and nothing else; no other page may show it in a frame.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class _RefusedError(Exception):
    """An answer other than 200; its text is a sentence for the user."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class LabServer(ThreadingHTTPServer):
    """Serves the lab on this machine only.

    Parameters
    ----------
    port : int, default=0
        Port on 127.0.0.1; 0 takes a free one.

    Attributes
    ----------
    token : str
        Whoever has it may ask; part of the address.

    Examples
    --------
    >>> from committee.lab import LabServer
    >>> with LabServer() as server:
    ...     server.address.partition("?")[0].rpartition(":")[0]
    'http://127.0.0.1'
    """

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.token = secrets.token_urlsafe(24)
        self._kept: OrderedDict[str, FittedState] = OrderedDict()
        # Fits of two requests would share the cores, and both be late.
        self._fitting = threading.Lock()
        # Members of other libraries are small; threads of BLAS would only wait for one another.
        self._libraries = ThreadpoolController()
        super().__init__(("127.0.0.1", port), _LabHandler)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """Address of the page, with the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser on this machine calls this server."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """A browser that has closed a connection is no error; others are printed."""
        import sys

        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def answer(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request of the page.

        Parameters
        ----------
        name : str
            "state", "film" or "bias".
        asked : dict
            The state, and what else the request needs.

        Returns
        -------
        dict
            Ready for JSON.
        """
        given = asked.get("state")
        if not isinstance(given, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The request has no 'state'.")
        state = read_fields(given)
        with self._fitting, self._libraries.limit(limits=1):
            fitted = self._find_fit(json.dumps(asdict(state.at_round(0)), sort_keys=True), state)
            if name == "state":
                return {**answer_state(state, fitted), "sizes": choose_sizes(fitted.fit.n_rounds)}
            if name == "bias":
                return answer_bias(fitted, _read_count(asked, "members"))
            if not fitted.fit.is_classifier:
                raise _RefusedError(HTTPStatus.BAD_REQUEST, "A film shows classes; curves come with the state.")
            return answer_film(fitted, _read_count(asked, "first"), _read_count(asked, "last"))

    def _find_fit(self, key: str, state: Any) -> FittedState:
        if key not in self._kept:
            self._kept[key] = FittedState(state)
        self._kept.move_to_end(key)
        while len(self._kept) > _N_KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]


def _read_count(asked: dict[str, Any], name: str) -> int:
    value = asked.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _RefusedError(HTTPStatus.BAD_REQUEST, f"The request needs a whole number '{name}'; got {value!r}.")
    return value


class _LabHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "committee-lab", ""
    timeout = 120
    # Answers are written in one piece; waiting for more would cost 40 ms.
    disable_nagle_algorithm = True
    server: LabServer

    def do_GET(self) -> None:
        """Send a file of the page, or the choices that it offers."""
        self._serve(self._get)

    def do_POST(self) -> None:
        """Answer a request of the page."""
        self._serve(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """The page shows what went wrong; the terminal stays quiet."""

    def _serve(self, make: Callable[[str, dict[str, str]], tuple[str, bytes]]) -> None:
        try:
            self._check_host()
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            self._send(HTTPStatus.OK, *make(parts.path, query))
        except _RefusedError as refused:
            self._send_error(refused.status, str(refused))
        except (CommitteeError, ValueError) as error:
            self._send_error(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))

    def _check_host(self) -> None:
        """A name of another site that was made to resolve to this machine is refused, and pages of other sites."""
        if self.headers.get("Host", "") not in self.server.hosts:
            raise _RefusedError(HTTPStatus.FORBIDDEN, f"The lab answers to {self.server.hosts[0]} only.")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.server.hosts}:
            raise _RefusedError(HTTPStatus.FORBIDDEN, "The lab answers to its own page only.")

    def _check_token(self, given: str) -> None:
        if not secrets.compare_digest(given.encode(), self.server.token.encode()):
            sentence = "This address has no valid token. Open the one that committee lab printed when it started."
            raise _RefusedError(HTTPStatus.FORBIDDEN, sentence)

    def _get(self, path: str, query: dict[str, str]) -> tuple[str, bytes]:
        if path == "/":
            self._check_token(query.get("token", ""))
            return _read_static("index.html")
        if path == "/api/choices":
            self._check_token(self.headers.get(_TOKEN_HEADER, ""))
            return "application/json", json.dumps(describe_choices()).encode()
        return _read_static(path.removeprefix("/"))

    def _post(self, path: str, query: dict[str, str]) -> tuple[str, bytes]:
        content = self._read_body()
        self._check_token(self.headers.get(_TOKEN_HEADER, ""))
        name = path.removeprefix("/api/")
        if path == "/api/csv":
            columns = {key: query.get(key, "") for key in ("across", "up", "label")}
            return "application/json", json.dumps(read_csv_points(content, **columns)).encode()
        if path not in ("/api/state", "/api/film", "/api/bias"):
            raise _RefusedError(HTTPStatus.NOT_FOUND, f"The lab has no {path}.")
        try:
            asked = json.loads(content)
        except ValueError:
            asked = None
        if not isinstance(asked, dict):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The request is not a JSON object.")
        return "application/json", json.dumps(self.server.answer(name, asked)).encode()

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self.close_connection = True
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "The request does not say how long it is.")
        if int(length) > MOST_BYTES:
            self.close_connection = True  # the rest is not read
            sentence = f"The lab reads files of up to {MOST_BYTES // 1_000_000} MB; got {int(length) / 1e6:.1f} MB."
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, sentence)
        return self.rfile.read(int(length))

    def _send_error(self, status: HTTPStatus, sentence: str) -> None:
        if urlsplit(self.path).path.startswith("/api/"):
            self._send(status, "application/json", json.dumps({"error": sentence}).encode())
        else:
            self._send(status, "text/plain", f"{sentence}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _read_static(name: str) -> tuple[str, bytes]:
    """A file of the page; only names that are listed can be asked for."""
    folder = files("committee.lab") / "static"
    known = {entry.name: entry for entry in folder.iterdir() if entry.is_file()}
    ending = name[name.rfind(".") :]
    if name not in known or ending not in _TYPES:
        raise _RefusedError(HTTPStatus.NOT_FOUND, "The lab has no such file.")
    return _TYPES[ending], known[name].read_bytes()
