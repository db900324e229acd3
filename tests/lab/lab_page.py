"""The page of the lab in a headless Chromium."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.browser import Browser, open_browser

_MOST_SECONDS = 60


class LabPage:
    """A browser that shows the lab; `address` is that of the page, before the state."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.address = browser, address

    def run(self, script: str) -> Any:
        return self.browser.run(script)

    def wait(self, condition: str) -> Any:
        """Until a condition holds; the time is a limit only."""
        end = time.monotonic() + _MOST_SECONDS
        while not (found := self.run(condition)):
            assert time.monotonic() < end, (condition, self.read_message(), self.browser.list_complaints())
            time.sleep(0.02)
        return found

    def open_state(self, link: str, width: int = 1280, scheme: str = "light") -> None:
        self.browser.events.clear()
        # Another address first: a change of the part after # alone would load nothing.
        self.browser.open("about:blank", width=width)
        self.browser.open(f"{self.address}#{link}", width=width, scheme=scheme)
        self.wait("document.body.dataset.ready === 'true'")

    def wait_for_films(self) -> None:
        self.wait("Lab.page.frames.size === Lab.page.answer.rounds && Lab.page.frames.get(1).size === 96")

    def wait_for_answer(self, condition: str) -> None:
        """Until the answer to a change has come: the condition holds for the answer and no other is on its way."""
        self.wait(f"Lab.page.answer && Lab.page.answer.rounds && ({condition})")

    def read_message(self) -> str:
        return str(self.run("document.getElementById('message').hidden ? '' : message.textContent"))

    def set_slider(self, name: str, value: float) -> None:
        """As a user who moves it: the browser's own event."""
        self.run(
            f"(() => {{const s = document.getElementById('{name}'); s.value = {value};"
            "s.dispatchEvent(new Event('input', {bubbles: true}));})()"
        )

    def choose(self, name: str, value: str) -> None:
        self.run(
            f"(() => {{const s = document.getElementById('{name}'); s.value = '{value}';"
            "s.dispatchEvent(new Event('change', {bubbles: true}));})()"
        )

    def click(self, selector: str) -> None:
        x, y = self.find_centre(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def find_centre(self, selector: str) -> tuple[float, float]:
        box = self.run(
            f"(() => {{const e = document.querySelector('{selector}'); e.scrollIntoView({{block: 'center'}});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];})()"
        )
        return box[0] + box[2] / 2, box[1] + box[3] / 2

    def drag(self, places: list[tuple[float, float]]) -> None:
        """Over the picture; places are shares of its width and height, from the top left."""
        self.run("document.getElementById('plot').scrollIntoView({block: 'center'})")
        left, top, width, height = self.run(
            "(() => {const b = plot.getBoundingClientRect(); return [b.left, b.top, b.width, b.height];})()"
        )
        points = [(left + x * width, top + y * height) for x, y in places]
        kinds = ["mousePressed", *["mouseMoved"] * (len(points) - 1)]
        for kind, (x, y) in zip(kinds, points, strict=True):
            self.browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)
        x, y = points[-1]
        self.browser.ask("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        text = {" ": " ", "Enter": "\r"}.get(key)
        code = {" ": "Space"}.get(key, key)
        extra = {} if text is None else {"text": text}
        self.browser.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, **extra)
        self.browser.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=code)

    def pick_file(self, path: Path) -> None:
        document = self.browser.ask("DOM.getDocument")["root"]["nodeId"]
        node = self.browser.ask("DOM.querySelector", nodeId=document, selector="#file")["nodeId"]
        self.browser.ask("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def read_pixels(self) -> tuple[int, int]:
        """A digest of the picture, and how many colours it has; every 97th value counts."""
        # What is to be drawn soon is drawn in the next frame.
        self.run(
            "{window.framesSeen = 0; requestAnimationFrame(() => requestAnimationFrame(() => {framesSeen = 2;})); 0;}"
        )
        self.wait("framesSeen === 2")
        digest, n_colors = self.run(
            "(() => {const c = document.getElementById('plot'); const d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; let hash = 0; const seen = new Set();"
            "for (let k = 0; k < d.length; k += 97) {hash = (Math.imul(hash, 31) + d[k]) | 0; seen.add(d[k]);}"
            "return [hash, seen.size];})()"
        )
        return digest, n_colors

    def check_quiet(self) -> None:
        """Nothing was logged, and nothing was asked of another host."""
        # That the picture is read back is for the tests alone; the browser advises on it.
        complaints = [text for text in self.browser.list_complaints() if "willReadFrequently" not in text]
        assert [text[-700:] for text in complaints] == []
        origin = self.address.partition("/?")[0]
        assert [url for url in self.browser.list_requests() if not url.startswith((origin, "about:", "file:"))] == []


@contextmanager
def open_lab_page(folder: Path, address: str) -> Iterator[LabPage]:
    """A page with a fresh profile in the folder."""
    with open_browser(folder) as browser:
        browser.ask("DOM.enable")
        yield LabPage(browser, address)
