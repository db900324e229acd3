"""The table of exports on the page about deployment says what the exports do, for every estimator."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from committee.exceptions import ParameterTypeError
from committee.io import to_c, to_onnx
from fuzz.asking import fit_usual
from fuzz.parameters import ESTIMATORS

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "deployment.md"


def read_table() -> dict[str, tuple[bool, bool]]:
    """Whether each estimator can be written as C and as ONNX."""
    said = {}
    for line in PAGE.read_text(encoding="utf-8").partition("| models | C | ONNX |")[2].splitlines()[2:]:
        if not line.startswith("|"):
            break
        models, as_c, as_onnx = (cell.strip() for cell in line.split("|")[1:4])
        for name in re.findall(r"`(\w+)`", models):
            said[name] = (as_c == "yes", as_onnx == "yes")
    return said


def test_every_estimator_is_in_the_table() -> None:
    assert read_table().keys() == ESTIMATORS.keys()


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_the_table_is_true(name: str, tmp_path: Path) -> None:
    model, _, _ = fit_usual(name, False)
    as_c, as_onnx = read_table()[name]
    if not as_c:
        with pytest.raises(ParameterTypeError, match="cannot be exported"):
            to_c(model)
    else:
        to_c(model, tmp_path / "model.c")
        compiler = shutil.which("cc")
        if compiler is not None:
            subprocess.run([compiler, "-std=c99", "-fsyntax-only", str(tmp_path / "model.c")], check=True)
    pytest.importorskip("onnx", reason="pip install 'committee[onnx]'")
    if not as_onnx:
        with pytest.raises(ParameterTypeError, match="cannot be exported"):
            to_onnx(model)
    else:
        assert to_onnx(model).graph.output
