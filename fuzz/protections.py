"""Takes each protection out once, in a copy of the sources, and sees that a test fails without it.

Usage: python -m fuzz.protections [sources] [certificates] [core] [--only WORD] [--keep]. A protection is a piece of
text of a source file and what stands there without it. Those of the compiled core that the programs of `fuzz.sanitized`
cover are tried there: one file is compiled anew, instead of the core. Others of the core are in
`fuzz.core_protections`. With --keep the counts go into fuzz/faults.json.
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

from fuzz.core_protections import CORE_PROTECTIONS, build_switched, try_switched
from fuzz.results import keep_counts
from fuzz.runner import ROOT
from fuzz.sanitized import build_program, run_program

__all__ = ["PARTS", "PROTECTIONS", "Protection", "change_text", "try_protection"]

CONTAINER, DECODE = "src/committee/io/container.py", "src/committee/io/decode.py"
SERVER, BASE = "src/committee/lab/server.py", "src/committee/base.py"
CERTIFICATES = "src/committee/io/certificates"
SIGNING, VERIFICATION = f"{CERTIFICATES}/signing.py", f"{CERTIFICATES}/verification.py"
SIGNED, CERTIFIED = "tests/io/test_signing.py", "tests/io/test_certificates.py"
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


#: Files of models, the lab, threads, and the reader of trees and the pool of the core.
SOURCE_PROTECTIONS = [
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


#: What makes a signature and a certificate worth something.
CERTIFIED_PROTECTIONS = [
    Protection(
        "a signature is checked",
        SIGNING,
        "        public.verify(held, Path(path).read_bytes())",
        "        pass",
        f"{SIGNED}::test_a_signature_is_of_the_file_and_the_key",
    ),
    Protection(
        "a signature has its length",
        SIGNING,
        "if len(held) != _SIGNATURE_BYTES:",
        "if False:",
        f"{SIGNED}::test_what_is_no_key_or_signature",
    ),
    Protection(
        "a key is one of Ed25519",
        SIGNING,
        "if not isinstance(found, wanted):",
        "if False:",
        f"{SIGNED}::test_what_is_no_key_or_signature",
    ),
    Protection(
        "the table has the digest of the certificate",
        VERIFICATION,
        'found = _compare_tables(certificate["table"], given["table"])',
        "found: list[str] = []",
        f"{CERTIFIED}::test_what_differs_is_named",
    ),
    Protection(
        "target and weights have the digests of the certificate",
        VERIFICATION,
        "if certificate[name] != given[name]:",
        "if False:",
        f"{CERTIFIED}::test_what_differs_is_named",
    ),
    Protection(
        "the model has the digest of the certificate",
        VERIFICATION,
        "changed = digest_model(model, strip=strip) != expected",
        "changed = False",
        f"{CERTIFIED}::test_changed_parameters_and_models_are_named",
    ),
    Protection(
        "a new fit has the digest of the certificate",
        VERIFICATION,
        "if digest_model(again, strip=strip) != expected:",
        "if False:",
        f"{CERTIFIED}::test_a_forged_certificate_is_found_by_the_fit",
    ),
    Protection(
        "a certificate has what is compared",
        VERIFICATION,
        "if not _is_certificate(found):",
        "if False:",
        f"{CERTIFIED}::test_certificates_of_later_versions_are_refused",
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
        lines = [line for line in counts["said"].splitlines() if line.startswith(("SUMMARY", "finding", "case", "a "))]
        return (lines or ["the program ends"])[0] if counts["crashes"] else ""
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


#: By the name of the part, which its counts are kept by.
PARTS = {"sources": SOURCE_PROTECTIONS, "certificates": CERTIFIED_PROTECTIONS}
PROTECTIONS = [protection for part in PARTS.values() for protection in part]


def try_part(part: str, only: str) -> dict[str, str]:
    """What fails without each of the protections of a part, by its name."""
    found: dict[str, str] = {}

    def note(name: str, fails: str) -> None:
        found[name] = fails
        print(f"without this: {name}: {fails or 'NOTHING FAILS'}", flush=True)

    if part == "core":
        package = build_switched(ROOT / "build" / "protections")
        chosen = [(number, one) for number, one in enumerate(CORE_PROTECTIONS, start=1) if only in " ".join(one)]
        for test in sorted({one.test for _, one in chosen}):
            if try_switched(test, 0, package):
                raise RuntimeError(f"{test} fails with all protections.")
        for number, one in chosen:
            note(one.name, try_switched(one.test, number, package))
        return found
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(ROOT / "src" / "committee", folder / "src" / "committee")
        for protection in PARTS[part]:
            if only in " ".join(protection):
                note(protection.name, try_protection(protection, folder))
    return found


def main() -> None:
    """Take out one after the other."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.protections", description=__doc__)
    parser.add_argument("parts", nargs="*", default=[*PARTS, "core"], help="sources, certificates, core (all)")
    parser.add_argument("--only", default="", metavar="WORD", help="only those with this word in name, file or test")
    parser.add_argument("--keep", action="store_true", help="write the counts into fuzz/faults.json")
    args = parser.parse_args()
    unnoticed = 0
    for part in args.parts:
        found = try_part(part, args.only)
        noticed = sum(map(bool, found.values()))
        unnoticed += len(found) - noticed
        if args.keep and not args.only:
            keep_counts(f"protections {part}", {"taken out": len(found), "noticed": noticed})
    sys.exit(min(unnoticed, 1))


if __name__ == "__main__":
    main()
