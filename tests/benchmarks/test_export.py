"""The benchmark of exported models compiles the trees of another library and compares the predictions."""

import shutil
from pathlib import Path

import pytest

from benchmarks import export


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("model", ["boosting", "forest"])
def test_the_c_file_predicts_what_the_source_does(model: str, tmp_path: Path) -> None:
    if model == "boosting":
        pytest.importorskip("lightgbm", reason="the trees are LightGBM's")
    folder = str(tmp_path)
    export.fit_model(model, export.SHAPES[model][1], folder)
    made = export.compile_model("C file", model, folder)
    assert made["source"] == (tmp_path / f"{model}.c").stat().st_size
    assert made["bytes"] > 0
    timed = export.measure_rows("C file", model, folder, 100, 1)
    assert timed["difference"] < 1e-12
    assert timed["cpu"]
