"""Pickles of earlier versions find their classes, wherever these are now, and predict as they did."""

import importlib
import pickle
from pathlib import Path

import numpy as np
import pytest

from committee import moved

FOLDER = Path(__file__).parent / "files" / "pickles"
PICKLES = sorted(FOLDER.glob("*.pickle"))

# Every class of ours that a pickle of version 0.1.0 could name, by the module that it was in.
NAMES = {
    "committee.automatic.bayes_member": ["BayesMember"],
    "committee.automatic.encoding": ["TableEncoding"],
    "committee.automatic.ensemble": ["CommitteeClassifier", "CommitteeRegressor"],
    "committee.automatic.kernel_member": ["KernelMember"],
    "committee.automatic.log_scale": ["LogScale"],
    "committee.automatic.plain_members": ["LinearMember", "NeighbourMember", "PriorMember"],
    "committee.automatic.views": ["TextReader"],
    "committee.automatic.word_encoding": ["WordEncoding"],
    "committee.automatic.word_members": ["WordBayesMember", "WordLinearMember"],
    "committee.data.dataset": ["Schema"],
    "committee.data.sampling": ["SamplePlan"],
    "committee.ensembles.adaboost": ["AdaBoostClassifier"],
    "committee.ensembles.adaboost_additive": ["Gentle", "Logit"],
    "committee.ensembles.adaboost_members": ["BoostedMembers", "BoostedTrees"],
    "committee.ensembles.adaboost_regressor": ["AdaBoostRegressor"],
    "committee.ensembles.adaboost_rules": ["Discrete", "Real", "Samme", "SammeR"],
    "committee.ensembles.arcing": ["ArcingClassifier", "Majority"],
    "committee.ensembles.bag_members": ["AnyMembers", "MemberSamples"],
    "committee.ensembles.bag_trees": ["TreeMembers"],
    "committee.ensembles.bagging": ["BaggingClassifier", "BaggingRegressor"],
    "committee.ensembles.boostexter": ["BoosTexterClassifier"],
    "committee.ensembles.boostexter_votes": ["LabelTarget", "WordVotes"],
    "committee.ensembles.boosting": ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"],
    "committee.ensembles.fold_average": ["FoldAverage"],
    "committee.ensembles.forest": [
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ],
    "committee.ensembles.forest_calibration": ["ShareCalibration", "_Sigmoid", "_Steps"],
    "committee.ensembles.forest_quantiles": ["LeafRecord"],
    "committee.ensembles.gradient_boosting": ["GradientBoostingClassifier", "GradientBoostingRegressor"],
    "committee.ensembles.meta_models": ["ShareBlend", "ValueBlend"],
    "committee.ensembles.selection": ["EnsembleSelectionClassifier", "EnsembleSelectionRegressor"],
    "committee.ensembles.stacking": ["StackingClassifier", "StackingRegressor"],
    "committee.ensembles.stacking_layers": ["Layer"],
    "committee.ensembles.stacking_leak": ["LeakReport"],
    "committee.ensembles.super_learner": ["SuperLearnerClassifier", "SuperLearnerRegressor"],
    "committee.ensembles.voting": ["VotingClassifier", "VotingRegressor"],
    "committee.learners.naive_bayes": ["BernoulliNB"],
    "committee.learners.single_feature_bayes": ["SingleFeatureNB"],
    "committee.learners.stump": ["DecisionStumpClassifier"],
    "committee.learners.tree": [
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ],
    "committee.learners.tree_view": ["TreeView"],
    "committee.losses": ["LossFunction"],
}


def test_the_pickles_are_there() -> None:
    assert len(PICKLES) >= 25


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.stem)
def test_old_pickles_predict_as_they_did(path: Path) -> None:
    stored = pickle.loads(path.read_bytes())
    model = stored["model"]
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    # Exponentials of another machine may differ in their last bits.
    np.testing.assert_allclose(predict(stored["rows"]), stored["prediction"], rtol=1e-12)
    assert pickle.loads(pickle.dumps(model)).get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize(("module", "name"), [(m, n) for m, names in NAMES.items() for n in names])
def test_old_names_of_classes_are_found(module: str, name: str) -> None:
    assert isinstance(getattr(importlib.import_module(module), name), type)


@pytest.mark.parametrize("module", moved.MODULES)
def test_what_was_moved_is_somewhere_else(module: str) -> None:
    assert moved.MODULES[module] != module
    importlib.import_module(moved.MODULES[module])


def test_an_unknown_name_of_a_moved_module_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = importlib.import_module("committee.ensembles.voting").Nothing
