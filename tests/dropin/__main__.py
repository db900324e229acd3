"""Write the table of docs/drop_in.md: `python -m tests.dropin`, from the root of the repository."""

import sys
from pathlib import Path

import pytest

from tests.dropin.conftest import COLLECTED
from tests.dropin.numbers import make_table, write_page_table


class Writer:
    """A plugin of pytest that writes the table once the tests are collected."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        table = make_table(session.config.stash[COLLECTED])
        write_page_table(table)
        print(table)


if __name__ == "__main__":
    sys.exit(pytest.main(["--collect-only", "-q", "-q", "-n", "0", str(Path(__file__).parent)], plugins=[Writer()]))
