"""Parameters: what is allowed, the sentence when it is not, and the manual written from the annotations."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed
from sklearn.base import clone

from committee import params
from committee.base import CommitteeEstimator, resolve_jobs, resolve_seed
from committee.constraints import describe_params, show_value
from committee.exceptions import CommitteeError, ParameterError, ParameterTypeError
from committee.params import HasMethods, Instance, Interval, Options, validate_params


class Tree(CommitteeEstimator):
    """A tree for the tests.

    It has every parameter.

    Attributes
    ----------
    depth_ : int
        How deep it is.
    """

    def __init__(
        self,
        *,
        criterion: params.ClassCriterion = "gini",
        splitter: params.Splitter = "best",
        max_depth: params.MaxDepth = None,
        min_samples_split: params.MinSamplesSplit = 2,
        min_samples_leaf: params.MinSamplesLeaf = 1,
        min_weight_fraction_leaf: params.MinWeightFractionLeaf = 0.0,
        max_features: params.MaxFeatures = None,
        random_state: params.RandomState = None,
        max_leaf_nodes: params.MaxLeafNodes = None,
        min_impurity_decrease: params.MinImpurityDecrease = 0.0,
        class_weight: params.ClassWeight = None,
        ccp_alpha: params.CcpAlpha = 0.0,
        monotonic_cst: params.MonotonicCst = None,
        interaction_cst: params.InteractionCst = None,
        exact: params.Exact = False,
        max_bins: params.MaxBins = 255,
        categorical_features: params.CategoricalFeatures = "from_dtype",
        unseen: params.Unseen = "missing",
        n_jobs: params.NJobs = None,
        verbose: params.Verbose = 0,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.exact = exact
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.verbose = verbose


ALLOWED = [
    ("criterion", ["gini", "entropy", "log_loss", "gain_ratio", "error", np.str_("gini")]),
    ("max_depth", [None, 1, 3, np.int8(4), np.uint64(9), 10**30]),
    ("min_samples_split", [2, 100, 1.0, 0.5, 1e-9, np.float32(0.25)]),
    ("min_samples_leaf", [1, 0.5, 1e-300, np.int64(3)]),
    ("min_weight_fraction_leaf", [0, 0.0, 0.5, np.float16(0.25)]),
    ("max_features", [None, 1, 1.0, 0.1, "sqrt", "log2"]),
    ("random_state", [None, 0, 2**32 - 1, np.random.RandomState(0), np.random.default_rng(0)]),
    ("min_impurity_decrease", [0, 5, 1e300]),
    ("class_weight", [None, "balanced", {0: 1.0}, [{0: 1}, {1: 2}], ["balanced", {1: 2}], ()]),
    ("monotonic_cst", [None, [0, 1], (1, -1), np.array([1, 0]), {"a": 1}]),
    ("interaction_cst", [None, "pairwise", "no_interactions", [[0, 1], {2}]]),
    ("exact", [True, np.True_]),
    ("max_bins", [2, 255]),
    ("categorical_features", [None, [0], ["a"], np.array([True, False])]),
    ("n_jobs", [None, 1, -1, -7, np.int32(3)]),
    ("verbose", [0, 1, True, 100]),
]

REFUSED = [
    ("max_depth", -3, ParameterError, "an int >= 1 or None; got -3. None grows without a limit."),
    ("max_depth", 0, ParameterError, "an int >= 1 or None; got 0. None grows without a limit."),
    ("max_depth", np.int64(-3), ParameterError, "an int >= 1 or None; got -3. None grows without a limit."),
    ("max_depth", 3.0, ParameterTypeError, "an int >= 1 or None; got 3.0. Write 3."),
    ("max_depth", True, ParameterTypeError, "an int >= 1 or None; got True. None grows without a limit."),
    ("max_depth", "deep", ParameterTypeError, "an int >= 1 or None; got 'deep'. None grows without a limit."),
    ("max_depth", float("nan"), ParameterTypeError, "an int >= 1 or None; got nan. None grows without a limit."),
    ("criterion", "ginni", ParameterError, "'gini', 'entropy', 'log_loss', 'gain_ratio' or 'error'; got 'ginni'. "
     "Did you mean 'gini'?"),
    ("criterion", "GINI", ParameterError, "'gini', 'entropy', 'log_loss', 'gain_ratio' or 'error'; got 'GINI'. "
     "Did you mean 'gini'?"),
    ("criterion", None, ParameterTypeError, "'gini', 'entropy', 'log_loss', 'gain_ratio' or 'error'; got None."),
    ("min_samples_split", 1, ParameterError, "an int >= 2 or a float in (0.0, 1.0]; got 1."),
    ("min_samples_split", 1.5, ParameterError, "an int >= 2 or a float in (0.0, 1.0]; got 1.5."),
    ("min_samples_split", 2.0, ParameterError, "an int >= 2 or a float in (0.0, 1.0]; got 2.0. Write 2."),
    ("min_samples_split", 0.0, ParameterError, "an int >= 2 or a float in (0.0, 1.0]; got 0.0."),
    ("min_samples_split", np.nan, ParameterError, "an int >= 2 or a float in (0.0, 1.0]; got nan."),
    ("min_samples_leaf", 1.0, ParameterError, "an int >= 1 or a float in (0.0, 1.0); got 1.0. Write 1."),
    ("min_weight_fraction_leaf", 0.6, ParameterError, "a float in [0.0, 0.5]; got 0.6."),
    ("max_features", "sqr", ParameterError, "an int >= 1, a float in (0.0, 1.0], 'sqrt', 'log2' or None; got 'sqr'. "
     "Did you mean 'sqrt'?"),
    ("max_features", "auto", ParameterError, "an int >= 1, a float in (0.0, 1.0], 'sqrt', 'log2' or None; got 'auto'."),
    ("random_state", -1, ParameterError, "an int in [0, 4294967295], a RandomState instance, a Generator instance or "
     "None; got -1."),
    ("min_impurity_decrease", np.inf, ParameterError, "a float >= 0.0; got inf."),
    ("min_impurity_decrease", "0", ParameterTypeError, "a float >= 0.0; got '0'."),
    ("class_weight", "balance", ParameterError, "a dict, a list, 'balanced' or None; got 'balance'. "
     "Did you mean 'balanced'?"),
    ("class_weight", 3, ParameterTypeError, "a dict, a list, 'balanced' or None; got 3."),
    ("ccp_alpha", np.float32(-2), ParameterError, "a float >= 0.0; got -2.0."),
    ("monotonic_cst", 1, ParameterTypeError, "a dict, an array-like of -1, 0 or 1 or None; got 1."),
    ("exact", 1, ParameterTypeError, "a bool; got 1."),
    ("max_bins", 256, ParameterError, "an int in [2, 255]; got 256."),
    ("categorical_features", "dtype", ParameterError, "'from_dtype', an array-like of indices, names or a mask or "
     "None; got 'dtype'. Did you mean 'from_dtype'?"),
    ("unseen", "ignore", ParameterError, "'missing' or 'error'; got 'ignore'."),
    ("n_jobs", 0, ParameterError, "an int <= -1, an int >= 1 or None; got 0. None lets the library decide."),
    ("n_jobs", 2.0, ParameterTypeError, "an int <= -1, an int >= 1 or None; got 2.0. Write 2."),
    ("verbose", -1, ParameterError, "an int >= 0 or a bool; got -1."),
    ("max_depth", int, ParameterTypeError, "an int >= 1 or None; got the class int. None grows without a limit."),
    ("max_depth", np.ones(3), ParameterTypeError, "an int >= 1 or None; got an array of shape (3,) and dtype float64. "
     "None grows without a limit."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values"), ALLOWED, ids=[name for name, _ in ALLOWED])
def test_allowed_values_pass(name: str, values: list[Any]) -> None:
    for value in values:
        validate_params(Tree(**{name: value}))


@pytest.mark.parametrize(("name", "value", "error", "sentence"), REFUSED, ids=[f"{r[0]}={r[1]!r}" for r in REFUSED])
def test_the_sentence_names_who_what_is_allowed_and_what_came(
    name: str, value: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(CommitteeError) as caught:
        Tree(**{name: value})._validate_params()
    assert type(caught.value) is error
    assert str(caught.value) == f"The {name!r} parameter of Tree must be {sentence}"


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
ANYTHING = st.recursive(
    SCALARS | st.sampled_from([int, np.ones((2, 2)), np.float64(1), np.array(3), object(), print, ..., Tree()]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=5,
)


@given(name=st.sampled_from(sorted(Tree().get_params())), value=ANYTHING)
def test_any_value_passes_or_gets_the_sentence(name: str, value: Any) -> None:
    param = next(p for p in describe_params(Tree) if p.name == name)
    tree = Tree(**{name: value})
    if param.admits(value):
        validate_params(tree)
    else:
        with pytest.raises((ParameterError, ParameterTypeError), match=f"^The '{name}' parameter of Tree must be "):
            validate_params(tree)


@given(
    low=st.none() | st.floats(-10, 10),
    width=st.none() | st.floats(0, 10),
    closed=st.sampled_from(["both", "left", "right", "neither"]),
    value=st.floats(-30, 30) | st.integers(-30, 30),
)
def test_interval_bounds_are_the_interval(low: float | None, width: float | None, closed: Any, value: float) -> None:
    high = None if width is None else (low or 0.0) + width
    smallest, largest = Interval(low, high, closed).bounds()
    above = low is None or (value >= low if closed in ("both", "left") else value > low)
    below = high is None or (value <= high if closed in ("both", "right") else value < high)
    assert (smallest <= value <= largest) == (above and below)


def test_manual_is_written_from_the_annotations() -> None:
    doc = Tree.__doc__ or ""
    assert doc.index("It has every parameter.") < doc.index("Parameters\n----------") < doc.index("Attributes\n---")
    assert "max_depth : int >= 1 or None, default=None\n    The largest depth of a tree;" in doc
    assert "max_features : int >= 1, float in (0.0, 1.0], {'sqrt', 'log2'} or None, default=None\n" in doc
    for name in Tree().get_params():
        assert f"\n{name} : " in doc
    assert all(len(line) <= 120 for line in doc.splitlines())


def test_manual_leaves_a_hand_written_section_and_an_inherited_docstring_alone() -> None:
    class Sub(Tree):
        pass

    class Own(CommitteeEstimator):
        """Own.

        Parameters
        ----------
        alpha : float
            By hand.
        """

        def __init__(self, alpha: float = 1.0) -> None:
            self.alpha = alpha

    assert Sub.__dict__.get("__doc__") is None
    assert (Own.__doc__ or "").count("alpha :") == 1


def test_every_alias_has_a_sentence_and_alternatives() -> None:
    for param in describe_params(Tree):
        assert param.sentence.endswith("."), param.name
        assert param.alternatives, param.name
        assert param.admits(param.default), param.name


def test_a_class_may_say_it_in_other_words() -> None:
    class Other(CommitteeEstimator):
        """Other."""

        def __init__(self, max_depth: Annotated[params.MaxDepth, "Shallow is enough."] = 3) -> None:
            self.max_depth = max_depth

    assert "max_depth : int >= 1 or None, default=3\n    Shallow is enough." in (Other.__doc__ or "")
    with pytest.raises(ParameterError, match="must be an int >= 1 or None; got 0"):
        validate_params(Other(max_depth=0))


class Fits:
    def fit(self) -> None: ...
    def predict(self) -> None: ...


FITS = Fits()
RNG = np.random.default_rng(0)


def test_a_default_that_its_own_annotation_refuses_is_found_at_once() -> None:
    class Wrong(CommitteeEstimator):
        def __init__(self, max_depth: params.MaxDepth = 0) -> None:
            self.max_depth = max_depth

    with pytest.raises(ParameterError, match="'max_depth' parameter of Wrong must be an int >= 1 or None; got 0"):
        validate_params(Wrong(max_depth=3))


def test_other_constraints() -> None:
    class Ensemble(CommitteeEstimator):
        """An ensemble."""

        def __init__(
            self,
            estimator: Annotated[object, HasMethods("fit", "predict")] = FITS,
            loss: Annotated[str, Options("log_loss", "hinge")] | Callable[..., Any] = "log_loss",
            rng: Annotated[Any, Instance(np.random.Generator, phrase="a generator of NumPy")] = RNG,
            anything: Any = None,
            unannotated=None,
        ) -> None:
            self.estimator = estimator
            self.loss = loss
            self.rng = rng
            self.anything = anything
            self.unannotated = unannotated

    with pytest.raises(ParameterTypeError, match="an object with the methods fit and predict; got the class Tree"):
        validate_params(Ensemble(estimator=Tree))
    validate_params(Ensemble(loss=max, anything=object(), unannotated=3))
    with pytest.raises(ParameterError, match="must be 'log_loss', 'hinge' or a callable; got 'hing'"):
        validate_params(Ensemble(loss="hing"))
    with pytest.raises(ParameterTypeError, match="must be a generator of NumPy; got 3"):
        validate_params(Ensemble(rng=3))


def test_annotations_that_cannot_be_resolved_are_not_checked() -> None:
    class Foreign(CommitteeEstimator):
        """Foreign."""

        def __init__(self, alpha: "NoSuchName" = 1) -> None:  # type: ignore[name-defined]  # noqa: F821
            self.alpha = alpha

    validate_params(Foreign(alpha="anything"))


def test_long_values_are_shown_short() -> None:
    assert len(show_value("x" * 10_000)) < 100
    assert len(show_value(list(range(10_000)))) < 100


def test_clone_and_repr() -> None:
    tree = Tree(max_depth=3, class_weight={0: 1.0})
    assert repr(clone(tree)) == "Tree(class_weight={0: 1.0}, max_depth=3)"


# --- the parameters that base.py resolves --------------------------------------------------------------------------


def test_seed() -> None:
    assert resolve_seed(42) == 42
    assert resolve_seed(np.uint32(7)) == 7
    assert resolve_seed(np.random.RandomState(0)) == resolve_seed(np.random.RandomState(0))
    assert resolve_seed(np.random.default_rng(0)) == resolve_seed(np.random.default_rng(0))
    state = np.random.RandomState(0)
    assert resolve_seed(state) != resolve_seed(state)
    np.random.seed(5)  # noqa: NPY002
    first = resolve_seed(None)
    np.random.seed(5)  # noqa: NPY002
    assert resolve_seed(None) == first
    assert resolve_seed(None) != first
    for value in (-1, 2**64):
        with pytest.raises(ParameterError, match="random_state"):
            resolve_seed(value)
    for value in ("a", 1.0, True):
        with pytest.raises(ParameterTypeError, match="random_state"):
            resolve_seed(value)


def test_jobs() -> None:
    assert resolve_jobs(None) == 0
    assert [resolve_jobs(n) for n in (1, 4, -1, np.int64(-2))] == [1, 4, -1, -2]
    with pytest.raises(ParameterError, match="got 0"):
        resolve_jobs(0)
    for value in (1.0, "2", True):
        with pytest.raises(ParameterTypeError, match="n_jobs"):
            resolve_jobs(value)


def test_none_is_one_thread_inside_a_worker_of_joblib() -> None:
    inside = Parallel(n_jobs=2, backend="threading")(delayed(resolve_jobs)(n) for n in (None, 3))
    assert inside == [1, 3]
    assert resolve_jobs(None) == 0


def test_tags_follow_what_the_class_accepts() -> None:
    class Plain(CommitteeEstimator):
        accepts_missing = False
        accepts_sparse = False
        accepts_categories = False

    full, plain = Tree().__sklearn_tags__().input_tags, Plain().__sklearn_tags__().input_tags
    assert (full.allow_nan, full.sparse, full.categorical) == (True, True, True)
    assert (plain.allow_nan, plain.sparse, plain.categorical) == (False, False, False)
