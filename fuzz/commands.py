"""Cases that call the command: odd arguments, and tables whose bytes were changed."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from fuzz.draws import Draw
from fuzz.libraries import Skipped, pa
from fuzz.oracle import Refusal, expect, guard

__all__ = ["call_anything"]

_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-command-")
CODES = (0, 1, 2)
WORDS = (
    "",
    "-",
    "--",
    "-1",
    "0",
    "x",
    "c0",
    "target",
    "nan",
    "1e400",
    "\x00",
    "a" * 5000,
    "../x",
    "ä",
    "%s",
    "[red]",
    "=",
    "a=b",
)


@cache
def write_whole() -> dict[str, bytes]:
    """The bytes of an ordinary table in every format, and of a model."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "c0": rng.normal(size=30).round(2),
            "c1": [None if v < 1 else int(v) for v in rng.integers(5, size=30)],
            "c2": [("red", "blue", "")[v] for v in rng.integers(3, size=30)],
            "target": [("no", "yes")[v] for v in rng.integers(2, size=30)],
        }
    )
    folder = Path(_FOLDER.name)
    lines = [
        "c0,c1,c2,target",
        *(",".join("" if v is None else str(v) for v in row.values()) for row in table.to_pylist()),
    ]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    pa.parquet.write_table(table, folder / "t.parquet")
    pa.feather.write_feather(table, str(folder / "t.feather"))
    words = ["fit", "t.csv", "-t", "target", "-e", "tree", "--folds", "2", "-o", "m.committee", "--no-report"]
    code, out, err = call_command(folder, words)
    if code:
        raise Skipped(f"The command does not run here: {out}{err}")
    return {name: (folder / name).read_bytes() for name in ("t.csv", "t.parquet", "t.feather", "m.committee")}


def call_command(folder: Path, words: list[str]) -> tuple[int, str, str]:
    """Exit code, output and errors of a call in this process."""
    from committee.cli.call import run as run_command  # here, since it needs the libraries of the command

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before = os.getcwd()
    os.chdir(folder)
    try:
        argv = mock.patch.object(sys, "argv", ["committee", *words])
        with guard(), argv, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_command()
    finally:
        os.chdir(before)
    return code, *(stream.buffer.getvalue().decode(errors="replace") for stream in (out, err))


def mutate(draw: Draw, content: bytes) -> bytes:
    """Bytes flipped, inserted, left out or repeated."""
    changed = bytearray(content)
    for _ in range(draw.pick((0, 1, 1, 2, 8))):
        at = draw.random.randrange(len(changed) or 1)
        way = draw.random.randrange(5)
        if way == 0 and changed:
            changed[at] ^= draw.random.randrange(1, 256)
        elif way == 1:
            changed[at:at] = draw.pick(
                (b"\x00", b",", b'"', b"\n", b"\xff\xfe", b"nan", b"1e999", b"'", b";", b"\r", b"=cmd")
            )
        elif way == 2:
            del changed[at : at + draw.random.randrange(1, 20)]
        elif way == 3:
            changed[at:at] = changed[: draw.random.randrange(1, 40)]
        else:
            changed = changed[:at]
    return bytes(changed)


def draw_words(draw: Draw, table: str) -> list[str]:
    """The words of a call, most of which make sense."""
    command = draw.pick_name(
        {"fit": 50, "predict": 20, "inspect": 8, "explain": 8, "report": 5, "card": 3, "verify": 3, "other": 3}
    )
    few = ["-e", draw.pick(("tree", "stump", "bernoulli-nb", "random-forest", "unknown")), "--folds", "2"]
    if command == "fit":
        words = ["fit", table, "-t", draw.pick(("target", "target", "c0", "c1", "unknown", "")), *few]
        words += (
            ["--no-save"]
            if draw.chance(0.6)
            else ["--no-report", "-o", draw.pick(("out.committee", "no/such/folder/x", "t.csv", ""))]
        )
        if "random-forest" in words:
            words += ["--set", "n_estimators=3"]
    elif command == "predict":
        words = ["predict", "m.committee", table]
    elif command in ("inspect", "card"):
        words = [command, draw.pick(("m.committee", table))]
    elif command in ("explain", "report", "verify"):
        words = [command, "m.committee", table]
    else:
        words = [draw.pick(WORDS), table]
    for _ in range(draw.pick((0, 0, 1, 2))):
        words += draw_option(draw)
    return words


def draw_option(draw: Draw) -> list[str]:
    """An option with a value that need not fit."""
    name = draw.pick(
        (
            "--set",
            "--metric",
            "--groups",
            "--weights",
            "--drop",
            "--task",
            "--folds",
            "--seed",
            "--jobs",
            "--encoding",
            "--no-header",
            "--json",
            "--config",
            "--memory",
            "--unknown",
        )
    )
    if name in ("--no-header", "--json"):
        return [name]
    values: dict[str, Any] = {
        "--set": (
            "max_depth=2",
            "max_depth=-1",
            "unknown=3",
            "max_depth",
            "=",
            "max_depth=[[[[",
            "max_depth=" + "-" * 999 + "1",
            "random_state=nan",
        ),
        "--metric": ("accuracy", "r2", "roc-auc", "unknown", ""),
        "--task": ("classification", "regression", "auto", "x"),
        "--folds": ("2", "3", "1", "40", "-1", "x"),
        "--seed": ("1", "-1", "99999999999", "x"),
        "--jobs": ("1", "2", "0", "-1", "x"),
        "--encoding": ("utf-8", "latin-1", "utf-16", "base64", "unknown", ""),
        "--memory": ("1GB", "0", "-1", "x", "1kB"),
    }
    return [name, draw.pick((*values.get(name, ("c0", "c1", "c2", "target")), draw.pick(WORDS)))]


def call_anything(draw: Draw, _: str) -> None:
    """Call the command; the exit code is 0, 1 or 2, and what goes wrong is said in a sentence."""
    whole = write_whole()
    name = draw.pick(("t.csv", "t.csv", "t.parquet", "t.feather"))
    with tempfile.TemporaryDirectory(dir=_FOLDER.name) as place:
        folder = Path(place)
        (folder / name).write_bytes(mutate(draw, whole[name]) if draw.chance(0.6) else whole[name])
        (folder / "m.committee").write_bytes(
            mutate(draw, whole["m.committee"]) if draw.chance(0.1) else whole["m.committee"]
        )
        words = draw_words(draw, draw.pick((name, name, name, name, name, name, "missing.csv", ".", "m.committee")))
        if words[0] in ("lab", "reproduce", "bench", "compare"):
            return
        draw.note("command", words)
        code, out, err = call_command(folder, words)
    text = out + err
    expect(code in CODES, "an exit code is 0, 1 or 2", code, text)
    expect("Traceback" not in text, "no traceback is shown", text)
    # As the command says it; messages of Arrow and of parsers have the word as well.
    expect("Error: Unexpected " not in text, "no error is unexpected", text[-600:])
    expect(code == 0 or text.strip(), "an error is said in words", code)
    if code:
        raise Refusal(text)
