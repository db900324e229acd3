"""The server of the lab: who may ask, and what is answered."""

import http.client
import json
import re
import socket
from typing import Any

import pytest

from committee.lab import LabServer
from committee.lab.csv_points import MOST_BYTES

STATE = {"data": "moons", "n": 40, "rounds": 5}


def ask(
    server: LabServer, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request(method, path, body, {"X-Lab-Token": server.token} | (headers or {}))
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def post(server: LabServer, path: str, content: Any, **headers: str) -> tuple[int, Any]:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    status, _, answer = ask(server, "POST", path, body, headers)
    return status, json.loads(answer)


def test_it_listens_on_loopback_only(server: LabServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", server.address)
    with LabServer() as other:
        assert other.token != server.token


def test_the_page_needs_the_token_of_the_address(server: LabServer) -> None:
    path = server.address.partition(str(server.port))[2]
    status, headers, page = ask(server, "GET", path)
    assert status == 200
    assert b"<canvas" in page
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    for wrong in ("/", "/?token=", "/?token=x", path[:-1], "/?token=%C3%A9"):
        status, _, text = ask(server, "GET", wrong)
        assert status == 403
        assert b"has no valid token" in text


@pytest.mark.parametrize("path", ["/api/state", "/api/film", "/api/bias", "/api/csv"])
def test_requests_need_the_token(server: LabServer, path: str) -> None:
    status, answer = post(server, path, {"state": STATE}, **{"X-Lab-Token": "guessed"})
    assert status == 403
    assert "has no valid token" in answer["error"]
    assert ask(server, "GET", "/api/choices", headers={"X-Lab-Token": ""})[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "169.254.0.1:80", ""])
def test_names_of_other_hosts_are_refused(server: LabServer, host: str) -> None:
    """A site whose name was made to resolve to this machine is not the lab."""
    status, _, text = ask(server, "GET", server.address.partition(str(server.port))[2], headers={"Host": host})
    assert status == 403
    assert b"answers to 127.0.0.1" in text


def test_pages_of_other_sites_are_refused(server: LabServer) -> None:
    body = {"state": STATE}
    assert post(server, "/api/state", body, Origin="http://evil.example")[0] == 403
    assert post(server, "/api/state", body, Origin="null")[0] == 403
    assert post(server, "/api/state", body, Origin=f"http://127.0.0.1:{server.port}")[0] == 200
    assert post(server, "/api/state", body, Host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize(
    "path", ["/../server.py", "/..%2fserver.py", "/static/lab.js", "/%2e%2e/x", "/state.py", "//etc"]
)
def test_no_other_file_is_sent(server: LabServer, path: str) -> None:
    status, _, text = ask(server, "GET", path)
    assert status == 404
    assert b"no such file" in text


def test_files_of_the_page_are_sent(server: LabServer) -> None:
    page = ask(server, "GET", server.address.partition(str(server.port))[2])[2].decode()
    names = re.findall(r'(?:src|href)="([\w.]+)"', page)
    assert len(names) > 3
    for name in names:
        status, headers, content = ask(server, "GET", f"/{name}")
        assert status == 200, name
        assert content
        assert headers["Content-Type"].startswith(("text/css", "text/javascript", "image/svg+xml"))


def test_a_state_its_film_and_its_bias(server: LabServer) -> None:
    status, answer = post(server, "/api/state", {"state": STATE})
    assert status == 200
    assert (answer["rounds"], answer["sizes"]) == (5, [1, 2, 4, 5])
    status, film = post(server, "/api/film", {"state": STATE, "first": 1, "last": 5})
    assert status == 200
    assert film["codes"]["shape"][0] == 5
    status, bias = post(server, "/api/bias", {"state": STATE, "members": 2})
    assert status == 200
    assert bias["members"] == 2
    status, choices = ask(server, "GET", "/api/choices")[::2]
    assert status == 200
    assert json.loads(choices)["start"]["data"] == "moons"


@pytest.mark.parametrize(
    ("path", "content", "status", "sentence"),
    [
        ("/api/state", b"{", 400, "not a JSON object"),
        ("/api/state", b"[]", 400, "not a JSON object"),
        ("/api/state", {}, 400, "has no 'state'"),
        ("/api/state", {"state": {"data": "mnist"}}, 422, "must be one of moons"),
        ("/api/state", {"state": {**STATE, "data": "iris", "algorithm": "real"}}, 422, "is for two classes"),
        ("/api/film", {"state": STATE, "first": 1}, 400, "a whole number 'last'; got None"),
        ("/api/film", {"state": {"data": "sine"}, "first": 1, "last": 2}, 400, "A film shows classes"),
        ("/api/bias", {"state": STATE, "members": "many"}, 400, "a whole number 'members'"),
        ("/api/exec", {"state": STATE}, 404, "The lab has no /api/exec"),
        ("/api/csv", b"x,y\n1,2", 422, "four rows without empty cells"),
    ],
)
def test_a_wrong_request_is_answered_with_a_sentence(
    server: LabServer, path: str, content: Any, status: int, sentence: str
) -> None:
    found, answer = post(server, path, content)
    assert found == status
    assert sentence in answer["error"]


def test_uploads_are_limited_before_they_are_read(server: LabServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
        request = (
            f"POST /api/csv HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Lab-Token: {server.token}\r\n"
            f"Content-Length: {MOST_BYTES + 1}\r\n\r\n"
        )
        plain.sendall(request.encode())
        answer = plain.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"up to 2 MB" in answer
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
        plain.sendall(f"POST /api/csv HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert plain.makefile("rb").read().startswith(b"HTTP/1.1 411")


def test_columns_of_a_table_are_chosen_by_the_query(server: LabServer) -> None:
    table = b"a,b,c,kind\n" + b"\n".join(b"%d,%d,%d,%s" % (k, k * k, 9 - k, b"xy"[k % 2 : k % 2 + 1]) for k in range(8))
    status, answer = post(server, "/api/csv?across=c&up=b&label=kind", table)
    assert status == 200
    assert answer["taken"] == {"across": "c", "up": "b", "label": "kind"}
