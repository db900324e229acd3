"""`committee export`: model files in, programs out."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

import committee
from tests.cli.conftest import Run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    X, y = load_iris(return_X_y=True)
    committee.save(committee.RandomForestClassifier(3, random_state=0).fit(X, y), tmp_path / "m.committee")
    return tmp_path / "m.committee"


def test_c_and_its_header(run: Run, model: Path, tmp_path: Path) -> None:
    done = run("export", model, "-o", tmp_path / "iris.c")
    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == ["iris.c", "iris.h"]
    assert "void iris_predict_proba(const double *row, double *values);" in (tmp_path / "iris.h").read_text()


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_python_module_without_this_library(run: Run, model: Path, tmp_path: Path) -> None:
    done = run("export", model, "-o", tmp_path / "iris.py", "--python")
    assert done.returncode == 0, done.stderr
    code = "import iris, sys; print(iris.predict([[5, 3, 1.5, 0.2]])); assert 'numpy' not in sys.modules"
    asked = subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert asked.stdout == "[0]\n", asked.stderr


@pytest.mark.parametrize(
    ("output", "options", "sentence"),
    [
        ("iris.txt", (), "must end in .c, .py or .onnx"),
        ("iris.c", ("--python",), "must end in .py with --python"),
        ("m.committee", (), "must end in"),
        ("nowhere/iris.c", (), "no folder 'nowhere'"),
    ],
)
def test_outputs_are_checked_first(run: Run, model: Path, output: str, options: tuple, sentence: str) -> None:
    done = run("export", model, "-o", output, *options)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())


def test_what_cannot_be_exported(run: Run, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = committee.OrdinalGradientBoostingClassifier(link="probit", n_estimators=2).fit(X, y)
    committee.save(model, tmp_path / "probit.committee")
    done = run("export", tmp_path / "probit.committee", "-o", tmp_path / "probit.c")
    assert done.returncode != 0
    assert "cannot be exported" in " ".join(done.stderr.split())
    assert not (tmp_path / "probit.c").exists()
