"""Whatever is wrong with the call or the table: one sentence, one hint, the right exit code, no traceback."""

import contextlib
from collections.abc import Callable
from encodings.aliases import aliases
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from committee.cli.cross_validation import CrossValidationRun
from committee.cli.errors import CommandError
from committee.cli.model_setup import ModelSetup
from committee.cli.options import parse_settings
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem
from committee.cli.stream import open_stream
from committee.cli.table import Source, read_source
from tests.cli.conftest import Run

USAGE, DATA = 2, 1


def expect(done: CompletedProcess[str], code: int, *fragments: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("Error: ")
    assert lines[1].startswith("Hint: ")
    for fragment in fragments:
        assert fragment in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr


def write(folder: Path, name: str, content: str | bytes) -> str:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


ROWS = "".join(f"{i},{i % 2}\n" for i in range(30))


def test_missing_file(run: Run, tmp_path: Path) -> None:
    expect(run("fit", "houses.csv", "--target", "y"), USAGE, "no file 'houses.csv'", "bundled")
    write(tmp_path, "house.csv", "a,y\n" + ROWS)
    expect(run("fit", "houses.csv", "--target", "y"), USAGE, "Did you mean 'house.csv'?")


def test_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    expect(
        run("fit", "t.csv", "--target", "y"), DATA, "folder t.csv holds no file that ends in .parquet", "big_data.md"
    )


def test_unknown_format(run: Run, tmp_path: Path) -> None:
    expect(run("fit", write(tmp_path, "t.xlsx", "PK"), "--target", "y"), USAGE, "format", ".parquet")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_empty_file(run: Run, tmp_path: Path, name: str) -> None:
    expect(run("fit", write(tmp_path, name, b""), "--target", "y"), DATA, "is empty")


def test_no_rows(run: Run, tmp_path: Path) -> None:
    expect(run("fit", write(tmp_path, "t.csv", "a,y\n"), "--target", "y"), DATA, "no rows")


def test_target_not_named(run: Run, tmp_path: Path) -> None:
    expect(run("fit", write(tmp_path, "t.csv", "a,y\n" + ROWS)), USAGE, "--target", "a, y")


def test_target_not_there(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "age,price\n" + ROWS)
    expect(run("fit", path, "--target", "prices"), USAGE, "no column 'prices'", "Did you mean 'price'?")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.jsonl"])
def test_unreadable_bytes(run: Run, tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, bytes(range(256)) * 20)
    expect(run("fit", path, "--target", "y"), DATA, "could not be read as", "true format")


def test_bytes_that_are_no_text(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", bytes(range(256)) * 20)
    expect(run("fit", path, "--target", "y"), DATA, "no text")


def test_cut_parquet(run: Run, tmp_path: Path, table: pa.Table) -> None:
    pyarrow.parquet.write_table(table, tmp_path / "whole.parquet")
    path = write(tmp_path, "t.parquet", (tmp_path / "whole.parquet").read_bytes()[:-50])
    expect(run("fit", path, "--target", "species"), DATA, "could not be read")


@pytest.mark.parametrize("read", [read_source, lambda *given: list(open_stream(*given).read_chunks(["y"], []))])
def test_json_that_is_nested_too_deeply(tmp_path: Path, read: Callable[..., object]) -> None:
    path = tmp_path / "t.jsonl"
    deep = "".join("[[0]," for _ in range(100_000)) + "0" + "]" * 100_000
    path.write_text('{"a": "[[[", "y": 1}\n' * 1000 + '{"a": ' + deep + ', "y": 2}\n')
    with pytest.raises(CommandError, match="nested more than 500 deep"):
        read(str(path), "utf-8")
    path.write_text('{"a": "[[[", "y": 1}\n' * 1000)
    read(str(path), "utf-8")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.jsonl"])
def test_a_file_that_cannot_be_opened(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_bytes(b"a,y")
    for function in ("input_stream", "memory_map"):
        monkeypatch.setattr(pa, function, Mock(side_effect=PermissionError(13, "Failed to open local file ")))
    with pytest.raises(CommandError, match="could not be opened: Permission denied") as caught:
        read_source(str(tmp_path / name), "utf-8")
    assert caught.value.code == USAGE


def test_ragged_rows(run: Run, tmp_path: Path) -> None:
    expect(run("fit", write(tmp_path, "t.csv", "a,y\n1,2\n3\n"), "--target", "y"), DATA, "could not be read as csv")


def test_one_target_value(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,y\n" + "1,yes\n2,yes\n" * 9)
    expect(run("fit", path, "--target", "y"), DATA, "'y' has the same value in every row: 'yes'")


def test_target_missing_everywhere(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,y\n" + "1,\n2,NA\n" * 9)
    expect(run("fit", path, "--target", "y"), DATA, "missing in every row")


def test_features_missing_everywhere(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,b,y\n" + ",NA,0\n,,1\n" * 9)
    expect(run("fit", path, "--target", "y"), DATA, "no column", "'a' is left out", "'b' is left out")


def test_duplicate_columns(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,a,y\n1,2,3\n")
    expect(run("fit", path, "--target", "y"), DATA, "two columns named 'a'", "Rename")


@pytest.mark.parametrize("content", ["a,y\nkön,0\n", "kön,y\n1,0\n"], ids=["cell", "heading"])
def test_wrong_encoding(run: Run, tmp_path: Path, content: str) -> None:
    path = write(tmp_path, "t.csv", content.encode("latin-1"))
    expect(run("fit", path, "--target", "y"), DATA, "not valid utf-8", "--encoding latin-1")


def test_utf16_is_recognised(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", ("a,y\n" + ROWS).encode("utf-16"))
    expect(run("fit", path, "--target", "y"), DATA, "written in utf-16", "--encoding utf-16")


def test_unknown_encoding(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,y\n" + ROWS)
    expect(run("fit", path, "--target", "y", "--encoding", "klingon"), USAGE, "'klingon' is no encoding")


@pytest.mark.parametrize("encoding", ["base64", "zip", "hex", "rot13", "uu", "quopri", "undefined", "bz2"])
@pytest.mark.parametrize("read", [read_source, open_stream])
def test_codecs_of_bytes_are_no_encodings_of_text(tmp_path: Path, encoding: str, read: Callable[..., object]) -> None:
    write(tmp_path, "t.csv", "a,y\n" + ROWS)
    with pytest.raises(CommandError, match=f"'{encoding}' is no encoding of text") as caught:
        read(str(tmp_path / "t.csv"), encoding)
    assert caught.value.code == USAGE


def test_every_codec_of_python_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for encoding in sorted(set(aliases.values())):
        if encoding in ("mbcs", "oem"):  # known to Windows only
            continue
        try:
            path.write_bytes(("a,y\n" + ROWS).encode(encoding))
        except LookupError:
            path.write_text("a,y\n" + ROWS)
        with contextlib.suppress(CommandError):  # and no other error
            assert read_source(str(path), encoding).table.column_names == ["a", "y"]


def test_encodings_with_odd_names(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,y\n" + ROWS)
    for encoding in ("", "x" * 5000, "é", "../x"):
        done = run("fit", path, "--target", "y", "--encoding", encoding)
        expect(done, USAGE, "is no encoding")
        assert len(done.stderr) < 300


@pytest.mark.parametrize(
    "value", ["-" * 90_000 + "1", "1+" * 40_000 + "1", "x" * 200_000], ids=["signs", "sums", "letters"]
)
def test_settings_that_are_no_values(value: str) -> None:
    with pytest.raises(CommandError, match="--set max_depth") as caught:
        parse_settings([f"max_depth={value}"])
    assert caught.value.code == USAGE
    assert len(caught.value.sentence) < 200


def test_a_setting_out_of_bounds(run: Run) -> None:
    expect(run("fit", "iris", "-e", "tree", "--set", "max_depth=" + "-" * 90_000 + "1"), USAGE, "nested too deeply")
    expect(run("fit", "iris", "-e", "tree", "--set", "max_depth=" + "1" * 120_000), USAGE, "120,000 letters")


@pytest.mark.parametrize("length", [240, 300, 5000])
def test_names_that_are_too_long(run: Run, length: int) -> None:
    name = "x" * length
    for call in (
        ("fit", f"{name}.csv", "-t", "y"),
        ("fit", "iris", "-o", f"{name}.committee"),
        ("fit", "iris", "--report", f"{name}.html"),
        ("fit", "--config", f"{name}.toml"),
        ("predict", f"{name}.committee", "iris"),
        ("predict", "m.committee", f"{name}.csv"),
        ("predict", "m.committee", "iris", "-o", f"{name}.csv"),
        ("inspect", f"{name}.committee"),
        ("explain", f"{name}.committee", "iris"),
        ("compare", f"{name}.csv", "-t", "y"),
        ("reproduce", "R9", "--out", f"{name}.html"),
        ("bench", "--quick", "-o", "x" * max(256, length)),
    ):
        done = run(*call)
        expect(done, USAGE)
        assert len(done.stderr) < 300, call
        assert "Unexpected" not in done.stderr


def test_text_is_no_quantity(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,y\n" + "1,yes\n2,no\n" * 9)
    expect(run("fit", path, "--target", "y", "--task", "regression"), USAGE, "no numbers", "--task classification")


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["fit", "--folds", "1"], "--folds"),
        (["fit", "--estimator", "forrest"], "--estimator"),
        (["fit", "--nonsense"], "--nonsense"),
        (["fit", "a.csv", "b.csv"], "b.csv"),
        (["fti"], "fti"),
        (["fit", "--set", "max_depth"], "max_depth"),
        (["fit", "--jobs", "two"], "--jobs"),
        (["fit", "iris", "--drop", "petal"], "petal"),
        (["fit", "iris", "--drop", "species"], "species"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_usage(run: Run, arguments: list[str], fragment: str) -> None:
    expect(run(*arguments), USAGE, fragment)


def test_debug_shows_the_traceback(run: Run) -> None:
    done = run("fit", "houses.csv", "--debug")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "no file 'houses.csv'" in done.stderr


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_table_is_never_written_over(run: Run, tmp_path: Path, option: str) -> None:
    content = "a,y\n" + ROWS
    path = write(tmp_path, "t.csv", content)
    expect(run("fit", path, "-t", "y", "-e", "stump", option, f"./{path}"), USAGE, "t.csv", "destroy")
    assert (tmp_path / path).read_text() == content
    expect(run("predict", "m.committee", path, "-o", path), USAGE, "destroy")
    expect(run("explain", "m.committee", path, "-o", path), USAGE, "destroy")
    expect(run("fit", path, "-t", "y", "-o", "m", "--report", "m"), USAGE, "destroy")


def test_a_folder_is_no_model(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    expect(run("inspect", "model"), USAGE, "is a folder")


def test_text_that_looks_like_a_quantity(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,y\n" + "".join(f"{i},{i}.5 EUR\n" for i in range(30)))
    expect(run("fit", path, "-t", "y", "-e", "tree"), USAGE, "No class", "'0.5 EUR' is text")
    expect(run("fit", path, "-t", "y", "-e", "tree", "--task", "regression"), USAGE, "no numbers: '0.5 EUR'")


def test_one_group_in_a_training_part(tmp_path: Path) -> None:
    rows = np.arange(40)
    table = pa.table({"a": rows, "g": rows % 2, "y": rows * 0.5})
    problem = define_problem(Source("t", table), Roles("y", groups="g"), "regression")
    with pytest.raises(CommandError, match="of one group") as caught:
        CrossValidationRun(ModelSetup(problem, Plan("tree", {}, 2, 0, 1))).run()
    assert "--set max_depth" in caught.value.hint


def test_few_groups_make_fewer_folds_inside() -> None:
    rows = np.arange(60)
    table = pa.table({"a": rows, "g": rows % 3, "y": rows * 0.5})
    problem = define_problem(Source("t", table), Roles("y", groups="g"), "regression")
    assert CrossValidationRun(ModelSetup(problem, Plan("tree", {}, 3, 0, 1))).run().comparisons


def test_a_class_of_one_row_is_reported_once(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,y\n0,rare\n" + "".join(f"{i},common\n" for i in range(40)))
    done = run("fit", path, "-t", "y", "-e", "stump", "--no-save")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "'rare' has only 1 row" in done.stdout
