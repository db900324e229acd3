"""Takes each protection out once, in a copy of the sources, and sees that a test fails without it.

Usage: python -m fuzz.protections [--only WORD] [--keep]. A protection is a piece of text of a source file and what
stands there without it. Those of the compiled core that the programs of `fuzz.sanitized` cover are tried there: one
file is compiled anew, instead of the core. With --keep the counts go into fuzz/faults.json.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from fuzz.results import keep_counts
from fuzz.runner import ROOT
from fuzz.sanitized import build_program, run_program

__all__ = ["PROTECTIONS", "Protection", "change_text", "try_protection"]

CONTAINER, DECODE = "src/committee/io/container.py", "src/committee/io/decode.py"
SERVER, BASE = "src/committee/lab/server.py", "src/committee/base.py"
VALIDATE, POOL = "cpp/src/tree/arena_validate.cpp", "cpp/src/parallel/thread_pool.cpp"
VOCABULARY, SAVING = "tests/io/test_vocabulary.py", "tests/faults/test_saving_faults.py"
LAB, THREADS = "tests/lab/test_server.py", "tests/contract/test_threads.py"


class Protection(NamedTuple):
    """A piece of text that protects, what stands there without it, and what then must fail."""

    name: str
    file: str
    text: str
    without: str
    test: str
    """Path and name of a test, or the name of a program of `fuzz.sanitized` and its number of cases."""


PROTECTIONS = [
    Protection(
        "a new file is written beside the old one",
        CONTAINER,
        'draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")',
        "draft = target\n    target.unlink(missing_ok=True)",
        f"{SAVING}::test_sigkill_at_every_step_leaves_a_whole_file",
    ),
    Protection(
        "a draft that failed is removed",
        CONTAINER,
        "            os.unlink(draft)",
        "            pass",
        f"{SAVING}::test_errors_of_the_system_at_every_step_leave_the_old_file",
    ),
    Protection(
        "bytes must be values of their type",
        CONTAINER,
        "        _check_content(arrays[-1])\n",
        "",
        f"{VOCABULARY}::test_bytes_that_are_no_value_of_their_type_are_refused",
    ),
    Protection(
        "only types of a list are read",
        CONTAINER,
        "        if _PLAIN_DTYPE.fullmatch(name):\n",
        "        if True:\n",
        f"{VOCABULARY}::test_values_that_files_cannot_hold_are_refused",
    ),
    Protection(
        "data cannot take the place of methods",
        DECODE,
        " or _is_behaviour(cls, name):",
        ":",
        f"{VOCABULARY}::test_data_cannot_hide_behaviour",
    ),
    Protection(
        "parts that hold one another are counted",
        DECODE,
        "if self._size > _MOST_PARTS:",
        "if False:",
        f"{VOCABULARY}::test_wide_structures_are_small_in_memory_or_refused",
    ),
    Protection(
        "the lab refuses other names of hosts",
        SERVER,
        'if self.headers.get("Host", "") not in self.server.hosts:',
        "if False:",
        f"{LAB}::test_names_of_other_hosts_are_refused",
    ),
    Protection(
        "the lab needs its token",
        SERVER,
        "if not secrets.compare_digest(given.encode(), self.server.token.encode()):",
        "if False:",
        f"{LAB}::test_requests_need_the_token",
    ),
    Protection(
        "the lab limits uploads",
        SERVER,
        "if int(length) > MOST_BYTES:",
        "if False:",
        f"{LAB}::test_uploads_are_limited_before_they_are_read",
    ),
    Protection(
        "a worker of joblib uses one thread",
        BASE,
        "get_active_backend()[0].nesting_level",
        "0",
        f"{THREADS}::test_a_worker_process_of_joblib_uses_one_thread_and_gives_the_same_answers",
    ),
    Protection(
        "a task of Dask uses one thread",
        BASE,
        " or _is_dask_task()",
        "",
        "tests/cluster/test_worker_threads.py::test_a_task_of_dask_takes_one_thread",
    ),
    Protection(
        "nodes ask for columns that there are",
        VALIDATE,
        "node.feature() < trees.n_features",
        "true",
        "trees 3000",
    ),
    Protection(
        "children lie within their tree",
        VALIDATE,
        "node.left > k && node.left + u64{1} < n_nodes",
        "node.left > k",
        "trees 3000",
    ),
    Protection(
        "leaves have numbers of their tree",
        VALIDATE,
        "node.left < n_leaves && !(seen[node.left] & kLeafTaken)",
        "true",
        "trees 3000",
    ),
    Protection(
        "sets of categories exist",
        VALIDATE,
        "node.category_set() < n_sets",
        "true",
        "trees 3000",
    ),
    Protection(
        "sets of categories end with their words",
        VALIDATE,
        "trees.category_offsets.back() == trees.category_words.size()",
        "true",
        "trees 3000",
    ),
    Protection(
        "a caller waits for its helpers",
        POOL,
        "    await_helpers(job);\n",
        "",
        "pool 3000",
    ),
    Protection(
        "a job is withdrawn before its caller leaves",
        POOL,
        "    if (is_offered) withdraw(job);\n",
        "",
        "pool 3000",
    ),
    Protection(
        "an error of one task is kept by one thread",
        POOL,
        "        const std::lock_guard<std::mutex> lock(error_mutex);\n        if (!error) error",
        "        error",
        "pool 3000",
    ),
]


def change_text(protection: Protection) -> str:
    """The source file without the protection."""
    text = (ROOT / protection.file).read_text(encoding="utf-8")
    if text.count(protection.text) != 1:
        raise ValueError(f"{protection.file} must hold this text once: {protection.text!r}.")
    return text.replace(protection.text, protection.without)


def try_protection(protection: Protection, folder: Path) -> str:
    """What fails without the protection, in a line; nothing if all goes well."""
    changed = change_text(protection)
    if protection.file.startswith("cpp/"):
        program, cases = protection.test.split()
        source = folder / Path(protection.file).name
        source.write_text(changed, encoding="utf-8")
        built = build_program(program, {ROOT / protection.file: source}, folder)
        counts = run_program(built, 0, int(cases))
        told = [line for line in counts["said"].splitlines() if line.startswith(("SUMMARY", "finding", "case", "a "))]
        return (told or ["the program ends"])[0] if counts["crashes"] else ""
    place = folder / protection.file
    before = place.read_text(encoding="utf-8")
    place.write_text(changed, encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", protection.test]
        env = os.environ | {"PYTHONPATH": str(folder / "src")}
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    finally:
        place.write_text(before, encoding="utf-8")
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    if done.returncode != 1 or not failed:
        raise RuntimeError(f"{protection.test} could not run: {done.stdout[-2000:]}")
    return failed[0]


def main() -> None:
    """Take out one after the other."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.protections", description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD", help="only those with this word in name, file or test")
    parser.add_argument("--keep", action="store_true", help="write the counts into fuzz/faults.json")
    args = parser.parse_args()
    chosen = [one for one in PROTECTIONS if args.only in " ".join(one)]
    unnoticed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "src" / "committee", folder / "src" / "committee")
        for protection in chosen:
            found = try_protection(protection, folder)
            print(f"without this: {protection.name}: {found or 'NOTHING FAILS'}", flush=True)
            if not found:
                unnoticed.append(protection.name)
    if args.keep:
        keep_counts("protections", {"taken out": len(chosen), "noticed": len(chosen) - len(unnoticed)})
    sys.exit(bool(unnoticed))


if __name__ == "__main__":
    main()
