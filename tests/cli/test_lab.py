"""``committee lab``: the address that is printed answers, and Ctrl-C ends it."""

import http.client
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import committee
from tests.cli.conftest import Run


def test_the_printed_address_answers_until_ctrl_c() -> None:
    env = os.environ | {"PYTHONPATH": str(Path(committee.__file__).parents[1]), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "committee", "lab", "data=circles&method=forest", "--no-browser"]
    # A shell may have had SIGINT ignored for background jobs, which children inherit.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/\?token=[\w-]+)#(\S+)", line)
        assert found is not None, line
        assert found[3].startswith("data=circles&n=300")
        assert "method=forest" in found[3]
        connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=30)
        connection.request("GET", found[2])
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
        assert "The lab has ended." in rest
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def test_a_wrong_state_or_port_is_an_error(run: Run) -> None:
    done = run("lab", "data=mnist", "--no-browser")
    assert done.returncode == 2
    assert "The lab's 'data' must be one of moons" in done.stderr
    assert run("lab", "--port", "70000").returncode == 2
