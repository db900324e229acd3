"""Build the core for another processor and run tests of it under the emulator of single programs (``qemu-user``).

``python packaging/emulated.py [--processor NAME] [--root FOLDER] [pytest's arguments]``: the processor is aarch64 on an
x86-64 machine and x86-64 on others. It needs Linux, the emulator and a cross-compiler, and an interpreter for that
processor: one in ``--root`` (an unpacked system with Python and its headers), or else that of this machine's own
distribution, fetched by ``apt-get`` into ``build/emulated``. Nothing is installed into this machine's system. Wheels
for the processor come from ``pip``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "emulated"
GROWTH = ("symmetric_trees", "mixed_growth", "kinds_of_growth")
KERNELS = ("stump", "word_stump", "subtrees", *GROWTH, "routes", "plain_kernels")
# The digests, then the kernels whose forms differ between processors and those of the growth of trees.
TESTS = (
    "tests/contract/test_platforms.py",
    "tests/contract/test_platform_families.py",
    "tests/contract/test_platform_targets.py",
    "tests/contract/test_platform_committees.py",
    *(f"tests/core/test_{name}.py" for name in KERNELS),
)
# One process: each would translate the same instructions anew.
OPTIONS = ("-n", "0", "-p", "no:cacheprovider")
PACKAGES = ("pytest>=8.4", "pytest-xdist>=3.5", "hypothesis>=6.100", "pandas>=2.2")
# pip takes names of platforms word for word: a later one does not stand for the earlier ones.
WHEELS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")
# NumPy sorts by AVX2 with loads under a mask. QEMU 7.2 fails there where a page that may not be read follows an array,
# as if it read what the mask leaves out. The core's kernels for AVX2 have no such loads.
AVX2 = ("-cpu", "max", "-E", "NPY_DISABLE_CPU_FEATURES=X86_V3")
# What an interpreter is asked for about itself.
QUESTION = (
    "import json, platform, sys, sysconfig; print(json.dumps([platform.machine(), sys.version_info[:2],"
    " sysconfig.get_config_var('MULTIARCH'), sysconfig.get_config_var('EXT_SUFFIX')]))"
)


class Processor(NamedTuple):
    """A processor by its names.

    Attributes
    ----------
    name : str
        As Python, CMake, the emulator and tags of wheels call it.
    architecture : str
        As packages of Debian call it.
    compiler, package : str
        The cross-compiler, and the package of Debian that it is in.
    options : tuple of str
        Options of the emulator, the first the model.
    instructions : str
        What the core must report there: emulated without its vector instructions, half of the kernels would not run.
    """

    name: str
    architecture: str
    compiler: str
    package: str
    options: tuple[str, ...]
    instructions: str


PROCESSORS = {
    processor.name: processor
    for processor in (
        Processor(
            "aarch64",
            "arm64",
            "aarch64-linux-gnu-g++",
            "g++-aarch64-linux-gnu",
            ("-cpu", "neoverse-n1"),
            "aarch64, NEON",
        ),
        Processor(
            "x86_64", "amd64", "x86_64-linux-gnu-g++", "g++-x86-64-linux-gnu", AVX2, "x86-64, SSE2, kernels AVX2"
        ),
    )
}


class Interpreter(NamedTuple):
    """Python for the emulated processor, and what it said about itself."""

    path: Path
    version: str
    headers: tuple[Path, Path]
    suffix: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processor", choices=list(PROCESSORS), default=name_other(platform.machine()))
    parser.add_argument("--root", type=Path, help="folder of an unpacked system for the processor, with Python")
    parser.add_argument("--only-build", action="store_true", help="run no tests, say how to run the interpreter")
    options, tests = parser.parse_known_args()
    processor = PROCESSORS[options.processor]
    missing = list_missing(processor, fetches=options.root is None)
    if missing:
        sys.exit("\n".join(["This machine lacks:", *missing]))
    folder = FOLDER / processor.name
    folder.mkdir(parents=True, exist_ok=True)
    root = options.root.resolve() if options.root is not None else fetch_root(processor, folder)
    interpreter = find_interpreter(processor, root)
    site = install_wheels(processor, interpreter, folder)
    module = build_core(processor, interpreter, folder)
    lay_out_package(module, folder / "package", interpreter.suffix)
    command = write_command(processor, root, interpreter, folder / "python")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "package"), str(site)])}
    print(f"PYTHONPATH={environment['PYTHONPATH']} {command}", flush=True)
    check_instructions(processor, command, environment)
    if not options.only_build:
        run([command, "-m", "pytest", *OPTIONS, *(tests or TESTS)], env=environment)


def name_other(machine: str) -> str:
    return "aarch64" if machine == "x86_64" else "x86_64"


def list_missing(processor: Processor, fetches: bool) -> list[str]:
    """What must be installed first, one line each with the command that does it."""
    install = "apt-get install --no-install-recommends"
    needed = {
        f"qemu-{processor.name}": f"{install} qemu-user (7.2 or newer: older ones have no AVX2)",
        processor.compiler: f"{install} {processor.package}",
        "cmake": "pip install cmake",
        "ninja": "pip install ninja",
    }
    if fetches:
        advice = f"use Debian or Ubuntu, or --root FOLDER with a system for {processor.name} that has Python's headers"
        needed |= {"apt-get": advice, "dpkg-deb": advice}
    missing = [f"  {tool}: {advice}" for tool, advice in needed.items() if shutil.which(tool) is None]
    if sys.platform != "linux":
        missing.insert(0, "  Linux: the emulator of single programs passes system calls on to the kernel")
    return missing


def fetch_root(processor: Processor, folder: Path) -> Path:
    """Unpack the distribution's Python for the processor, by lists and a cache of packages in `folder`."""
    root, state = folder / "root", folder / "apt"
    if root.exists():
        return root
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    settings = {
        "APT::Architecture": processor.architecture,
        "APT::Architectures": processor.architecture,
        "APT::Sandbox::User": "",
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
    }
    apt = ["apt-get", "-qq", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]
    run([*apt, "update"])
    # Wheels come with all libraries but that of C++.
    wanted = ["python3-minimal", "libpython3-dev", "libstdc++6"]
    try:
        run([*apt, "install", "--download-only", "--no-install-recommends", "-y", *wanted])
    except subprocess.CalledProcessError:
        sys.exit(
            f"The package sources of this machine have no Python for {processor.architecture}. Name a folder with an "
            f"unpacked system for {processor.name} by --root."
        )
    # Under another name until all is there: half a system would be taken for a whole one the next time.
    unpacked = folder / "root.new"
    shutil.rmtree(unpacked, ignore_errors=True)
    for package in sorted((state / "archives").glob("*.deb")):
        run(["dpkg-deb", "-x", package, unpacked])
    return unpacked.rename(root)


def find_interpreter(processor: Processor, root: Path) -> Interpreter:
    """The newest Python 3 below `root`, asked for its version under the emulator."""
    names = [path for part in ("usr", "usr/local") for path in (root / part / "bin").glob("python3.*")]
    found = sorted(
        (path for path in names if path.name.removeprefix("python3.").isdecimal()),
        key=lambda path: int(path.name.removeprefix("python3.")),
    )
    if not found:
        sys.exit(f"{root} has no usr/bin/python3.N or usr/local/bin/python3.N.")
    path = found[-1]
    answer = subprocess.check_output([*emulate(processor, root), path, "-c", QUESTION], text=True)
    machine, version, triplet, suffix = json.loads(answer)
    if machine != processor.name:
        sys.exit(f"{path} runs on {machine}, not on {processor.name}.")
    name = "python{}.{}".format(*version)
    include = path.parents[1] / "include"
    if not (include / name / "Python.h").exists():
        sys.exit(f"{include / name} has no Python.h; the system in {root} needs libpython3-dev or python3-devel.")
    return Interpreter(path, "{}.{}".format(*version), (include / name, include / (triplet or "") / name), suffix)


def emulate(processor: Processor, root: Path) -> list[str]:
    return [f"qemu-{processor.name}", *processor.options, "-L", str(root)]


def build_core(processor: Processor, interpreter: Interpreter, folder: Path) -> Path:
    """Compile the module; the stub, which a run of it makes, is that of the machine's own build."""
    build, headers = folder / "core", folder / "headers"
    plain, own = interpreter.headers
    # Alone: beside them in the system are headers of its C library, which the compiler has its own of.
    shutil.rmtree(headers, ignore_errors=True)
    shutil.copytree(plain, headers / plain.name)
    if own != plain and own.exists():
        shutil.copytree(own, headers / own.parent.name / own.name)
    definitions = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": processor.name,
        "CMAKE_CXX_COMPILER": processor.compiler,
        # GCC tells of a rule for passing arguments that changed with its version 10; all files are compiled by one.
        "CMAKE_CXX_FLAGS": f"-I{headers} -Wno-psabi",
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": headers / plain.name,
        "SKBUILD_PROJECT_VERSION": "dev",
        "COMMITTEE_WERROR": "ON",
    }
    run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *(f"-D{key}={value}" for key, value in definitions.items())])
    run(["cmake", "--build", build, "--target", "_core"])
    [module] = build.glob("_core*.so")
    return module


def lay_out_package(module: Path, folder: Path, suffix: str) -> None:
    """The sources of the package with the module for the other processor in the place of this one's."""
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns("__pycache__", "_core*.so")
    shutil.copytree(ROOT / "src" / "committee", folder / "committee", ignore=left_out)
    # CMake names it for the Python that runs the build.
    shutil.copy2(module, folder / "committee" / f"_core{suffix}")


def install_wheels(processor: Processor, interpreter: Interpreter, folder: Path) -> Path:
    """The dependencies of the library and of its tests, for the other processor."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *PACKAGES]
    site, installed = folder / "site", folder / "site.json"
    asked = json.dumps([interpreter.version, wanted])
    if installed.exists() and installed.read_text(encoding="utf-8") == asked:
        return site
    shutil.rmtree(site, ignore_errors=True)
    platforms = [word for tag in WHEELS for word in ("--platform", f"{tag}_{processor.name}")]
    pip = [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:", "--target", site]
    run([*pip, *platforms, "--python-version", interpreter.version, *wanted])
    installed.write_text(asked, encoding="utf-8")
    return site


def write_command(processor: Processor, root: Path, interpreter: Interpreter, command: Path) -> Path:
    """A script that is the interpreter: tests start processes of ``sys.executable``, which the kernel cannot run."""
    words = " ".join(f"'{word}'" for word in emulate(processor, root))
    command.write_text(f'#!/bin/sh\nexec {words} -0 "$0" \'{interpreter.path}\' "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return command


def check_instructions(processor: Processor, command: Path, environment: dict[str, str]) -> None:
    code = "import committee; committee.show_versions()"
    shown = subprocess.check_output([command, "-c", code], env=environment, text=True)
    print(shown, flush=True)
    if f"instruction set: {processor.instructions}\n" not in shown:
        sys.exit(f"The core does not report {processor.instructions!r}. Emulators older than QEMU 7.2 have no AVX2.")


def run(command: list[str | Path], **options: object) -> None:
    subprocess.run(command, check=True, cwd=ROOT, **options)  # type: ignore[call-overload]


if __name__ == "__main__":
    main()
