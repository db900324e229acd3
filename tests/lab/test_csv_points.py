"""Points of the lab from tables that a user picks."""

from typing import Any

import pytest

from committee.exceptions import DataError
from committee.lab.csv_points import MOST_BYTES, read_csv_points
from committee.lab.fits import fit_rounds
from committee.lab.state import read_fields

FLOWERS = "length,width,kind\n" + "\n".join(f"{k},{k % 7},{'abc'[k % 3]}" for k in range(60))


def read(text: str, **columns: str) -> Any:
    return read_csv_points(text.encode(), **columns)


def test_two_columns_and_classes() -> None:
    found = read(FLOWERS)
    assert found["taken"] == {"across": "length", "up": "width", "label": "kind"}
    assert found["classes"] == ["a", "b", "c"]
    assert found["data"] == "points"
    assert found["points"].split("_")[:3] == ["0,0,0", "1,1,1", "2,2,2"]
    fit = fit_rounds(read_fields({key: found[key] for key in ("data", "points", "box")} | {"rounds": 3}))
    assert len(fit.sample.X) + len(fit.sample.X_test) == 60


def test_two_columns_of_numbers_are_a_curve() -> None:
    found = read("x;y\n1;2,5\n".replace(",", ".") + "2;3\n3;1\n4;0\n;7\n")
    assert found["data"] == "line_points"
    assert found["points"] == "1,2.5_2,3_3,1_4,0"
    assert (found["n_rows"], found["n_known"], found["n_taken"]) == (5, 4, 4)


def test_columns_can_be_chosen() -> None:
    text = "a\tb\tc\tgroup\n" + "\n".join(f"{k}\t{2 * k}\t{3 * k}\t{k % 2}" for k in range(10))
    found = read(text)
    assert found["taken"] == {"across": "a", "up": "b", "label": "group"}
    found = read(text, across="c", up="a", label="group")
    assert found["points"].split("_")[1] == "3,1,1"
    assert read(text, across="a", up="c", label="-")["data"] == "line_points"


def test_a_long_table_is_sampled() -> None:
    found = read("x,y\n" + "\n".join(f"{k},{k}" for k in range(3000)))
    assert (found["n_known"], found["n_taken"]) == (3000, 1000)
    assert found["points"].count("_") == 999


@pytest.mark.parametrize(
    ("content", "columns", "sentence"),
    [
        (b"", {}, "The table is empty"),
        (b"x,y\n", {}, "The table is empty"),
        (b"x\n1\n2\n", {}, "The table has one column"),
        (b"x,y\n1,2\n3\n", {}, "Row 3 of the table has 1 cells, and the first row names 2"),
        (b"x,y\nred,1\nblue,2\ngreen,3\n", {}, "needs two columns of numbers; .* these are: y"),
        (b"x,y\n1,2\n3,4\n", {}, "four rows without empty cells; the chosen columns have 2"),
        (b"\xff\xfe\x00", {}, "not text in UTF-8"),
        (b"PK\x00\x01", {}, "not text; save the table as CSV"),
        (FLOWERS.encode(), {"across": "height"}, "no column 'height'; its columns are length, width, kind"),
        (FLOWERS.encode(), {"across": "kind", "up": "length"}, "'kind' must hold numbers to be an axis; it holds 'a'"),
        (FLOWERS.encode(), {"label": "length"}, "'length' has 60 different values; the lab shows 2 to 8"),
        (b"x" * (MOST_BYTES + 1), {}, "tables of up to 2 MB; got 2.0 MB"),
    ],
)
def test_a_table_that_cannot_be_shown_is_answered_with_a_sentence(
    content: bytes, columns: dict[str, str], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        read_csv_points(content, **columns)
