"""Make a virtual environment with the oldest versions that ``pyproject.toml`` allows.

``python packaging/oldest.py FOLDER``: the lower bounds of the library and of the extras in `EXTRAS` become exact
versions. The package itself is not installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

EXTRAS = ("cli", "io")
# Packages of the tests whose oldest versions matter, since the library reads their tables; the tools may be new.
TABLES = ("pandas", "polars")
TOOLS = ("pytest>=8.4", "pytest-xdist>=3.5", "hypothesis>=6.100")


def main() -> None:
    folder = Path(sys.argv[1])
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(bound for extra in EXTRAS for bound in extras[extra])]
    wanted += [bound for bound in extras["test"] if bound.split(">=")[0] in TABLES]
    exact = sorted({pin_oldest(bound) for bound in wanted})
    print("\n".join(exact))
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", *exact, *TOOLS], check=True)


def pin_oldest(bound: str) -> str:
    """``"numpy>=1.26"`` becomes ``"numpy==1.26.*"``: the oldest series, with its last corrections."""
    found = re.fullmatch(r"([A-Za-z0-9_-]+)>=([0-9.]+)", bound)
    if found is None:
        raise ValueError(f"{bound!r} has no lower bound of the form name>=version.")
    name, version = found.groups()
    return f"{name}=={version}.*" if version.count(".") < 2 else f"{name}=={version}"


if __name__ == "__main__":
    main()
