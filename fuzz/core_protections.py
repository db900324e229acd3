"""Protections of the compiled core: checks of arguments at its border, and places where it looks for interrupts.

`build_switched` compiles one core, from a copy of the sources, in which each of them can be taken out alone: the
statement that protects is not run where the environment variable COMMITTEE_TAKEN_OUT has its number. The tests then
need no build of their own for each of them.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz.runner import ROOT

__all__ = ["CORE_PROTECTIONS", "CoreProtection", "build_switched", "switch_files", "try_switched"]

BIND, SRC = "cpp/bind", "cpp/src"
BORDER = "tests/core/test_border.py::test_"
FITS = "tests/contract/test_interrupt.py::test_"
ASKED = "tests/inspection/test_inspection_interrupts.py::test_work_is_polled_and_stops"
VARIABLE = "COMMITTEE_TAKEN_OUT"
#: In front of a file in which statements can be left out.
SWITCH = f"""#ifndef {VARIABLE}
#define {VARIABLE}
#include <cstdlib>
inline bool is_taken_out(int number) {{
  const char* const taken_out = std::getenv("{VARIABLE}");
  return taken_out && std::atoi(taken_out) == number;
}}
#endif
"""
#: Bytes of memory and seconds of the processor that a test may take; to need more is to be noticed too.
MOST_MEMORY, MOST_SECONDS = 6 << 30, 600


class CoreProtection(NamedTuple):
    """A statement that protects, as the last one in a piece of text, and the test that must fail without it."""

    name: str
    file: str
    text: str
    """It is in the file once. The last `throw` or `poll()` in it is left out."""
    test: str


def _list_border() -> list[CoreProtection]:
    """Sentences of refusals, and the tests that ask for them."""
    boosting, target = f"{BIND}/boosting_checks.hpp", f"{BIND}/target_arrays.hpp"
    grow, forest = f"{SRC}/tree/grow_tree.cpp", f"{BIND}/bind_forest.cpp"
    tree = f"{BORDER}a_tree_is_not_grown_from_what_does_not_fit"
    refusals = [
        (boosting, "the target must have a value for each row", "boosting_reads_no_target_beyond_its_end"),
        (boosting, "classes must be numbers from 0 on", "losses_read_no_target_beyond_its_end"),
        (boosting, "there must be one score at least", "boosting_reads_no_target_beyond_its_end"),
        (boosting, "monotonic must have one entry a feature", "boosting_knows_its_features"),
        (boosting, "interaction group names an unknown feature", "boosting_knows_its_features"),
        (f"{BIND}/bind_boosting.cpp", "the fit has no target", "boosting_without_a_target_takes_gradients_only"),
        (f"{BIND}/bind_boosting.cpp", "the table has other bins", "boosting_knows_its_features"),
        (target, "a label is not below its number of classes", tree),
        (target, "there are too many classes", tree),
        (target, "values must have a column", tree),
        (target, "values have no classes", "values_are_finite"),
        (forest, "the target must be what the trees predict", "features_are_judged_by_the_target_of_the_trees"),
        (forest, "every feature must have a column", "every_feature_comes_from_a_column"),
        (grow, "weights must have one entry a row", tree),
        (grow, "labels must have one entry a row and output", tree),
        (grow, "member_features must be ascending, each once", tree),
        (grow, "monotonic must have one entry a feature", tree),
        (grow, "monotonic needs two classes or one output", tree),
        (grow, "the presort must be that of the table", "a_presort_of_another_table_is_refused"),
    ]
    made = []
    for file, sentence, test in refusals:
        full = test if test.startswith("tests/") else BORDER + test
        error = "nb::value_error" if file.startswith(BIND) else "std::invalid_argument"
        made.append(CoreProtection(sentence, file, f'throw {error}("{sentence}', full))
    return made


CORE_PROTECTIONS = [
    *_list_border(),
    CoreProtection(
        "tables must be aligned",
        f"{BIND}/buffers.hpp",
        "if (const char* const sentence = complaint()) throw",
        f"{BORDER}memory_that_is_not_aligned_is_refused",
    ),
    CoreProtection(
        "the interpreter is asked for signals",
        f"{BIND}/interrupts.hpp",
        "return PyErr_CheckSignals() != 0",
        f"{FITS}a_fit_that_is_interrupted_keeps_the_old_state[classes]",
    ),
    CoreProtection(
        "plans of explanations are polled",
        f"{SRC}/explain/shap.cpp",
        "[&](std::size_t t) {\n                   watch.poll()",
        f"{ASKED}[explain_block]",
    ),
    CoreProtection(
        "backgrounds of explanations are polled",
        f"{SRC}/explain/shap_interventional.cpp",
        "    watch.poll()",
        f"{ASKED}[explain_against]",
    ),
    CoreProtection(
        "permutations are polled by tree",
        f"{SRC}/explain/permutation.cpp",
        "parallel_for(trees.n_trees, n_threads, [&](std::size_t t) {\n      watch.poll()",
        f"{ASKED}[permute]",
    ),
    CoreProtection(
        "partial dependence is polled by tree",
        f"{SRC}/explain/partial_dependence.cpp",
        "for (std::size_t t = first; t < last; ++t) {\n          watch.poll()",
        f"{ASKED}[depend_by_rows]",
    ),
    CoreProtection(
        "predictions are polled",
        f"{SRC}/predict/predict.cpp",
        "if (watch) watch->poll()",
        f"{ASKED}[predict]",
    ),
    CoreProtection(
        "leaves of rows are polled",
        f"{SRC}/predict/apply.cpp",
        "for (std::size_t t = 0; t < trees.n_trees; ++t) {\n    if (watch) watch->poll()",
        f"{ASKED}[apply]",
    ),
]


def switch_text(text: str, protection: CoreProtection, number: int) -> str:
    """The text of a file in which the statement is left out where its number is set."""
    if text.count(protection.text) != 1:
        raise ValueError(f"{protection.file} must hold this text once: {protection.text!r}.")
    found = [*re.finditer(r"throw\b|[A-Za-z_.>-]*poll\(\)|PyErr_CheckSignals", protection.text)][-1]
    kept, statement = protection.text[: found.start()], protection.text[found.start() :]
    left_out = f"!is_taken_out({number})"
    # A question is answered with no, a statement is not run.
    asked = f"{left_out} && {statement}" if kept.endswith("return ") else f"if ({left_out}) {statement}"
    return text.replace(protection.text, kept + asked)


def switch_files(protections: Sequence[CoreProtection]) -> dict[str, str]:
    """The files of protections, with all statements that can be left out; their numbers are from 1 on."""
    texts: dict[str, str] = {}
    for number, protection in enumerate(protections, start=1):
        before = texts.get(protection.file) or (ROOT / protection.file).read_text(encoding="utf-8")
        texts[protection.file] = switch_text(before, protection, number)
    return {file: SWITCH + text for file, text in texts.items()}


def build_switched(folder: Path) -> Path:
    """The folder of a package whose core has switches. What was compiled there before is used again."""
    tree, build, changed = folder / "tree", folder / "build", switch_files(CORE_PROTECTIONS)
    for source in [ROOT / "CMakeLists.txt", *(ROOT / "cpp").rglob("*.*")]:
        name = source.relative_to(ROOT).as_posix()
        text = changed[name].encode() if name in changed else source.read_bytes()
        place = tree / name
        if not place.exists() or place.read_bytes() != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text)
    settings = {"CMAKE_BUILD_TYPE": "Release", "Python_EXECUTABLE": sys.executable, "SKBUILD_PROJECT_VERSION": "dev"}
    given = [f"-D{name}={value}" for name, value in settings.items()]
    subprocess.run(["cmake", "-S", str(tree), "-B", str(build), "-G", "Ninja", *given], check=True, stdout=2)
    subprocess.run(["cmake", "--build", str(build), "--target", "_core"], check=True, stdout=2)
    package = folder / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "committee", package / "committee", ignore=shutil.ignore_patterns("_core*.so"))
    shutil.copy(build / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}", package / "committee")
    return package


def try_switched(test: str, number: int, package: Path) -> str:
    """What fails in a test without the protection of a number (0: with all), in a line; nothing if all goes well."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", test]
    env = os.environ | {"PYTHONPATH": str(package), VARIABLE: str(number)}

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))

    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False, preexec_fn=bound)
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    if done.returncode < 0 or failed:
        return failed[0] if failed else f"the process ends with signal {-done.returncode}"
    raise RuntimeError(f"{test} could not run: {done.stdout[-2000:]}")
