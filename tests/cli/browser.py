"""A headless Chromium, driven through the pipe of its developer tools; no further package is needed."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Pages of ours need no network, and the browser's own errands would look like theirs.
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_browser() -> str:
    """Where a Chromium is; skips the test where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed to open the page with")
    return found


class Browser:
    """One page; what it logs and asks for is kept."""

    def __init__(self, commands: int, answers: int) -> None:
        self._out, self._in, self._rest = commands, answers, b""
        self._number, self._session = 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _read(self) -> Any:
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has gone"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(
        self, page: Path | str, width: int = 1200, height: int = 900, media: str = "screen", scheme: str = "light"
    ) -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=media, features=features)
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())
        self.events = [event for event in self.events if event.get("method") != "Page.loadEventFired"]

    def run(self, script: str) -> Any:
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def take_picture(self, whole: bool = False) -> bytes:
        return base64.b64decode(self.ask("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def print_pages(self) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"])

    def list_complaints(self) -> list[str]:
        logged = [e["params"] for e in self.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        printed = [e["params"] for e in self.events if e.get("method") == "Runtime.consoleAPICalled"]
        return [json.dumps(one) for one in [*logged, *printed]]

    def list_requests(self) -> list[str]:
        sent = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url[:100] for url in sent if not url.startswith("data:")]


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in the folder."""
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()

    def place_pipes() -> None:
        # The protocol reads from 3 and writes to 4; copies first, since either may be there already.
        reading, writing = os.dup(from_us), os.dup(to_us)
        os.dup2(reading, 3)
        os.dup2(writing, 4)

    command = [find_browser(), *ARGUMENTS, f"--user-data-dir={folder / 'profile'}"]
    process = subprocess.Popen(
        command,
        preexec_fn=place_pipes,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(from_us)
    os.close(to_us)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)  # which ends it
        os.close(from_browser)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
