"""Parts from other libraries go through skops, and only what is trusted is made."""

import io
import sys
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee.exceptions import ModelFileError
from committee.io import describe_file
from tests.io.models import assert_same_answers, fit_model, make_data, make_model, open_file, seal_file

pytest.importorskip("skops")

KD_TREE = ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"]


class OwnForest(committee.RandomForestClassifier):
    """Someone else's subclass, of which files know nothing."""


def shout(text):
    """Would be called if a file could have something called."""
    raise AssertionError(text)


def save_bag(member, path, **params):
    bag = fit_model(committee.BaggingClassifier(member, n_estimators=3, random_state=0, **params))
    committee.save(bag, path)
    return bag


def test_members_of_scikit_learn_come_back(tmp_path):
    bag = save_bag(LogisticRegression(), tmp_path / "model", max_features=0.5)
    loaded = committee.load(tmp_path / "model")
    assert_same_answers(bag, loaded, make_data(bag)[0])
    assert loaded.estimator.get_params() == bag.estimator.get_params()


def list_committees():
    """Ensembles with members of both kinds, in the forms that their fitted states can have."""
    both = [("ours", committee.DecisionTreeClassifier(max_depth=3)), ("theirs", LogisticRegression())]
    return {
        "voting": committee.VotingClassifier(both, voting="soft"),
        "stack": committee.StackingClassifier(both, cv=2),
        "stack of folds": committee.StackingClassifier(both, cv=2, refit=False),
        "stack of layers": committee.StackingClassifier(both, cv=2, layers=[both]),
        "mean": committee.StackingClassifier(both, cv=2, final_estimator="mean"),
        "super learner": committee.SuperLearnerClassifier(both, cv=2),
        "selection": committee.EnsembleSelectionClassifier(both, cv=2),
        "boosted": committee.AdaBoostClassifier(LogisticRegression(), n_estimators=3),
        "bag of boosted": committee.BaggingClassifier(committee.AdaBoostClassifier(n_estimators=3), n_estimators=2),
    }


@pytest.mark.parametrize("name", list_committees())
def test_committees_of_both_come_back(name, tmp_path):
    model = fit_model(list_committees()[name])
    committee.save(model, tmp_path / "model")
    assert_same_answers(model, committee.load(tmp_path / "model"), make_data(model)[0])


def test_types_that_are_not_known_to_be_safe_must_be_trusted(tmp_path):
    bag = save_bag(KNeighborsClassifier(), tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"not known to be safe: .*KDTree.* pass trusted=\["):
        committee.load(tmp_path / "model")
    assert describe_file(tmp_path / "model").untrusted == KD_TREE
    with pytest.raises(ModelFileError, match="not known to be safe"):
        committee.load(tmp_path / "model", trusted=KD_TREE[:1])
    assert_same_answers(bag, committee.load(tmp_path / "model", trusted=KD_TREE), make_data(bag)[0])
    with pytest.raises(ModelFileError, match="must be a list"):
        committee.load(tmp_path / "model", trusted=True)


@pytest.mark.parametrize("mmap", [True, False], ids=["mapped", "copied"])
def test_ours_inside_theirs_inside_ours(tmp_path, mmap):
    inner = make_pipeline(StandardScaler(), committee.RandomForestClassifier(3, random_state=0))
    bag = save_bag(inner, tmp_path / "model")
    loaded = committee.load(tmp_path / "model", mmap=mmap)
    assert_same_answers(bag, loaded, make_data(bag)[0])
    forests = [member[-1] for member in loaded.estimators_]
    assert all(type(forest) is committee.RandomForestClassifier for forest in forests)
    assert len({id(forest) for forest in forests}) == 3
    # What the archive holds are stand-ins: the trees are in the file, where they can be mapped.
    header, _ = open_file((tmp_path / "model").read_bytes())
    assert sum(record.get("class") == "Trees" for record in header["objects"]) == 3


def test_a_pipeline_around_ours_is_saved_as_well(tmp_path):
    model = make_pipeline(StandardScaler(), committee.RandomForestClassifier(3, random_state=0))
    fit_model(model, make_data(committee.RandomForestClassifier()))
    committee.save(model, tmp_path / "model", strip=True)
    loaded = committee.load(tmp_path / "model")
    assert_same_answers(model, loaded, make_data(model)[0])
    assert loaded[-1]._stripped


def test_a_subclass_must_be_trusted_and_is_checked(tmp_path):
    model = fit_model(OwnForest(3, random_state=0))
    committee.save(model, tmp_path / "model")
    with pytest.raises(ModelFileError, match="OwnForest"):
        committee.load(tmp_path / "model")
    loaded = committee.load(tmp_path / "model", trusted=[OwnForest])
    assert type(loaded) is OwnForest
    assert_same_answers(model, loaded, make_data(model)[0])
    header, data = open_file((tmp_path / "model").read_bytes())
    schema = next(record for record in header["objects"] if record.get("class") == "Schema")
    schema["fields"].update(n_features=3, categories={"tuple": [None] * 3})
    (tmp_path / "model").write_bytes(seal_file(header, data))
    with pytest.raises(ModelFileError, match="do not fit together"):
        committee.load(tmp_path / "model", trusted=[OwnForest])


def test_functions_are_never_made_unless_trusted(tmp_path):
    tree = committee.DecisionTreeClassifier(max_features=shout)
    committee.save(tree, tmp_path / "model")
    with pytest.raises(ModelFileError, match="shout"):
        committee.load(tmp_path / "model")
    tree = committee.DecisionTreeClassifier(max_features=lambda: None)
    committee.save(tree, tmp_path / "model")
    with pytest.raises(ModelFileError, match="lambda"):
        committee.load(tmp_path / "model")


def replace_archive(path, change):
    """Write another archive into a file."""
    header, data = open_file(path.read_bytes())
    entry = header["arrays"][header["foreign"]["array"]]
    old = data[entry["at"] : entry["at"] + entry["shape"][0]]
    new = change(old)
    entry["shape"] = [len(new)]
    path.write_bytes(seal_file(header, data[: entry["at"]] + new + bytes(-len(new) % 64)))


def rewrite(archive, edit, **options):
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w", **options) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, edit(entry.filename, old.read(entry)))
    return made.getvalue()


def huge_npy(name, content):
    if not name.endswith(".npy"):
        return content
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    return made.getvalue()


def test_archives_that_lie_are_refused(tmp_path):
    path = tmp_path / "model"
    save_bag(LogisticRegression(), path)
    whole = path.read_bytes()

    def edit_schema(old, new):
        return lambda a: rewrite(a, lambda n, c: c.replace(old, new) if n == "schema.json" else c)

    module = b'"__module__": "sklearn.linear_model._logistic"'
    lies = {
        "larger than it may be": lambda a: rewrite(a, lambda _, c: c, compression=zipfile.ZIP_DEFLATED),
        "larger than its entry": lambda a: rewrite(a, huge_npy),
        "cannot be read": lambda a: a[:-10],
        "skops cannot read": lambda a: rewrite(a, lambda n, c: b"[" * 99999 if n == "schema.json" else c),
        "not known to be safe": edit_schema(module, b'"__module__": "os"'),
        "classes of committee": edit_schema(module, b'"__module__": "committee.learners.tree"'),
    }
    for match, lie in lies.items():
        path.write_bytes(whole)
        replace_archive(path, lie)
        with pytest.raises(ModelFileError, match=match):
            committee.load(path)


def test_nothing_contains_itself(tmp_path):
    inner = make_pipeline(StandardScaler(), committee.DecisionTreeClassifier(random_state=0))
    save_bag(inner, tmp_path / "model")
    last = len(open_file((tmp_path / "model").read_bytes())[0]["objects"]) - 1

    def point_at_the_whole(name, content):
        if name != "schema.json":
            return content
        text = content.decode()
        at = text.index('"committee.object"')
        start = text.index('"content": "', at) + len('"content": "')
        return (text[:start] + str(last) + text[text.index('"', start) :]).encode()

    replace_archive(tmp_path / "model", lambda a: rewrite(a, point_at_the_whole))
    with pytest.raises(ModelFileError, match="part that is not there"):
        committee.load(tmp_path / "model")


def test_without_skops_there_is_a_sentence(tmp_path, monkeypatch):
    save_bag(LogisticRegression(), tmp_path / "model")
    plain = fit_model(make_model(committee.RandomForestClassifier))
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ModelFileError, match=r"pip install 'committee\[io\]'"):
        committee.load(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"pip install 'committee\[io\]'"):
        save_bag(LogisticRegression(), tmp_path / "other")
    committee.save(plain, tmp_path / "plain")
    committee.load(tmp_path / "plain")
