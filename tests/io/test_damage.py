"""A damaged or malicious file is refused or harmless: it never crashes, hangs, fills the memory or runs anything."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import committee
from committee.exceptions import ModelFileError
from committee.io.fitted_attributes import NEEDED
from tests.contract.source_reading import ROOT
from tests.io.models import ESTIMATORS, fit_model, make_model, open_file, seal_file
from tests.io.structure import try_changes

N_FILES = 2000
SHARE = 0.08  # of all changes of the structure


@pytest.mark.skipif(os.name != "posix", reason="limits of memory and time as POSIX has them")
def test_damaged_files_do_no_harm(tmp_path):
    # On a machine of many cores their threads' stacks and pools alone would use up the memory that is allowed.
    few = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    path = os.pathsep.join([str(Path(committee.__file__).parents[1]), str(ROOT)])
    env = os.environ | few | {"PYTHONPATH": path}
    command = [sys.executable, "-m", "tests.io.damage", str(N_FILES), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, timeout=1800)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == N_FILES
    known = {f"{way}: {what}" for way in ("header", "arrays") for what in ("refused", "loaded", "loaded with errors")}
    # Checksums find whatever was changed by accident, wherever it is.
    assert outcomes.keys() <= known | {"bytes: refused", "length: refused"}
    assert outcomes["bytes: refused"] > N_FILES // 7
    # Both ends of the scale: most changes of meaning are found, and some are none.
    assert outcomes["header: refused"] > outcomes["header: loaded"] > 0
    assert outcomes["arrays: refused"] > 0


@pytest.mark.filterwarnings("ignore")
def test_parts_that_do_not_fit_are_refused_or_answered_with_a_sentence(tmp_path):
    found = try_changes(SHARE, tmp_path)
    assert found["failures"] == []
    assert found["changes"] > 500
    assert 0 < found["loaded"] < found["changes"] / 5


def test_every_estimator_says_what_it_needs():
    unlisted = {cls.__name__ for cls in ESTIMATORS} - NEEDED.keys()
    assert not unlisted, "list what these need to predict in committee.io.fitted_attributes"


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if cls.__name__ in NEEDED])
def test_fitted_attributes_must_be_there(cls, tmp_path):
    path = tmp_path / "model"
    committee.save(fit_model(make_model(cls)), path)
    header, data = open_file(path.read_bytes())
    record = header["objects"][-1]
    assert record["class"] == cls.__name__
    for name in NEEDED[cls.__name__]:
        fitted = {key: value for key, value in record["fitted"].items() if key != name}
        assert len(fitted) == len(record["fitted"]) - 1
        changed = {**header, "objects": [*header["objects"][:-1], {**record, "fitted": fitted}]}
        path.write_bytes(seal_file(changed, data))
        with pytest.raises(ModelFileError, match="The parts of the model do not fit together"):
            committee.load(path)


def test_an_estimator_that_is_not_fitted_can_be_loaded(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        committee.save(committee.RandomForestRegressor(7), tmp_path / "model")
        assert committee.load(tmp_path / "model").n_estimators == 7


@pytest.mark.parametrize("criterion", ["text", "poisson"])
def test_a_tree_needs_a_criterion_that_there_is(criterion, tmp_path):
    path = tmp_path / "model"
    committee.save(fit_model(committee.DecisionTreeClassifier()), path)
    header, data = open_file(path.read_bytes())
    (view,) = (record for record in header["objects"] if record["class"] == "TreeView")
    view["fields"]["_criterion"] = criterion
    path.write_bytes(seal_file(header, data))
    with pytest.raises(ModelFileError, match="do not fit together: a criterion is known"):
        committee.load(path)
