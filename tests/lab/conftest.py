"""A lab that runs, and pages that show it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from committee.lab import LabServer
from tests.cli.browser import find_browser
from tests.lab.lab_page import LabPage, open_lab_page


@pytest.fixture(scope="module")
def server() -> Iterator[LabServer]:
    with LabServer() as started:
        thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield started
        started.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def page(server: LabServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPage]:
    """One browser for all tests of a module, each of which opens its own state."""
    find_browser()
    with open_lab_page(tmp_path_factory.mktemp("browser"), server.address) as opened:
        yield opened


@pytest.fixture
def show(page: LabPage) -> Callable[..., LabPage]:
    """Open a state in the page."""

    def open_state(link: str, width: int = 1280, scheme: str = "light") -> LabPage:
        page.open_state(link, width, scheme)
        return page

    return open_state


@pytest.fixture
def table(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
