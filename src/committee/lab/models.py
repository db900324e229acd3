"""The estimator of a state: one description, from which both the instance and its code are made."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from committee.lab.state import LabState
    from committee.typing import EstimatorLike

__all__ = ["ModelSpec", "specify_members", "specify_model"]

# Longer calls have a line for each parameter.
_LINE = 80

SpecValue: TypeAlias = "str | int | float | bool | ModelSpec | tuple[tuple[str, ModelSpec], ...] | None"


@dataclass(frozen=True)
class ModelSpec:
    """A class and its parameters.

    Parameters
    ----------
    module, name : str
        Where the class is.
    params : tuple of pairs
        Names and values, which may be specifications themselves.
    """

    module: str
    name: str
    params: tuple[tuple[str, SpecValue], ...] = ()

    def build(self) -> EstimatorLike:
        """An instance, not fitted."""
        made: EstimatorLike = getattr(import_module(self.module), self.name)(
            **{name: _build_value(value) for name, value in self.params}
        )
        return made

    def write(self) -> str:
        """The call that makes the instance."""
        parts = [f"{name}={_write_value(value)}" for name, value in self.params]
        line = f"{self.name}({', '.join(parts)})"
        if len(line) <= _LINE:
            return line
        return "\n".join([f"{self.name}(", *(f"    {part}," for part in parts), ")"])

    def list_imports(self) -> set[tuple[str, str]]:
        """Modules and names that the call needs."""
        found = {(self.module, self.name)}
        for _, value in self.params:
            if isinstance(value, ModelSpec):
                found |= value.list_imports()
            elif isinstance(value, tuple):
                found = found.union(*(member.list_imports() for _, member in value))
        return found


def _build_value(value: SpecValue) -> Any:
    if isinstance(value, ModelSpec):
        return value.build()
    return [(name, member.build()) for name, member in value] if isinstance(value, tuple) else value


def _write_value(value: SpecValue) -> str:
    if isinstance(value, ModelSpec):
        return value.write()
    if isinstance(value, tuple):
        members = "".join(f'    ("{name}", {member.write()}),\n' for name, member in value)
        return f"[\n{members}]"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.10g}" if isinstance(value, float) else repr(value)


def specify_model(state: LabState, n_members: int | None = None) -> ModelSpec:
    """The ensemble of a state.

    Parameters
    ----------
    state : LabState
        Its method, algorithm, depth, rate, rounds, subsample and seed count.
    n_members : int, optional
        Another number of members than the state's rounds.

    Returns
    -------
    ModelSpec
    """
    kind = "Classifier" if state.task == "classification" else "Regressor"
    rounds = state.rounds if n_members is None else n_members
    if state.method in ("voting", "stacking"):
        return _describe_combination(state, kind, rounds)
    describe = {
        "bagging": _describe_bagging,
        "forest": _describe_forest,
        "extra_trees": _describe_forest,
        "adaboost": _describe_adaboost,
        "boosting": _describe_boosting,
    }[state.method]
    name, params = describe(state, kind)
    seed: tuple[str, SpecValue] = ("random_state", state.seed)
    return ModelSpec("committee", name + kind, (*params[:1], ("n_estimators", rounds), *params[1:], seed))


_Description: TypeAlias = "tuple[str, tuple[tuple[str, SpecValue], ...]]"


def _describe_tree(state: LabState, kind: str) -> ModelSpec:
    return ModelSpec("committee", f"DecisionTree{kind}", (("max_depth", state.depth),))


def _share_of_rows(state: LabState) -> float | None:
    return None if state.subsample == 1.0 else state.subsample


def _describe_bagging(state: LabState, kind: str) -> _Description:
    return "Bagging", (("estimator", _describe_tree(state, kind)), ("max_samples", _share_of_rows(state)))


def _describe_forest(state: LabState, kind: str) -> _Description:
    params: list[tuple[str, SpecValue]] = [("max_depth", state.depth)]
    if state.method == "forest" or state.subsample < 1.0:
        params.append(("max_samples", _share_of_rows(state)))
    if state.method == "extra_trees" and state.subsample < 1.0:
        params.append(("bootstrap", True))
    return "RandomForest" if state.method == "forest" else "ExtraTrees", tuple(params)


def _describe_adaboost(state: LabState, kind: str) -> _Description:
    # Gentle and logit boosting fit their members to numbers.
    member = "Regressor" if state.algorithm in ("gentle", "logit") else kind
    params: tuple[tuple[str, SpecValue], ...] = (
        ("estimator", _describe_tree(state, member)),
        ("learning_rate", state.rate),
        ("algorithm", state.algorithm),
        ("keep_sample_weights", True),
    )
    return "AdaBoost", params


def _describe_boosting(state: LabState, kind: str) -> _Description:
    params: tuple[tuple[str, SpecValue], ...] = (
        ("learning_rate", state.rate),
        ("max_depth", state.depth),
        ("subsample", state.subsample),
        ("max_leaf_nodes", None),
        ("min_samples_leaf", 1),
        ("early_stopping", False),
    )
    return "GradientBoosting", params


def specify_members(state: LabState) -> tuple[tuple[str, ModelSpec], ...]:
    """The members of voting and stacking: models that are wrong in different ways.

    Parameters
    ----------
    state : LabState
        Its task, depth and seed count.

    Returns
    -------
    tuple of names and specifications
    """
    is_class = state.task == "classification"
    kind = "Classifier" if is_class else "Regressor"
    discriminant = ("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis")
    linear = discriminant if is_class else ("sklearn.linear_model", "LinearRegression")
    smooth = ("sklearn.naive_bayes", "GaussianNB") if is_class else ("sklearn.linear_model", "BayesianRidge")
    forest = (("n_estimators", 50), ("max_depth", state.depth), ("random_state", state.seed))
    return (
        ("linear", ModelSpec(*linear)),
        ("tree", ModelSpec("committee", f"DecisionTree{kind}", (("max_depth", state.depth), ("random_state", 0)))),
        ("neighbours", ModelSpec("sklearn.neighbors", f"KNeighbors{kind}", (("n_neighbors", 3),))),
        ("bayes", ModelSpec(*smooth)),
        ("forest", ModelSpec("committee", f"RandomForest{kind}", forest)),
    )


def _describe_combination(state: LabState, kind: str, n_members: int) -> ModelSpec:
    members = specify_members(state)[:n_members]
    params: list[tuple[str, SpecValue]] = [("estimators", members)]
    if state.method == "voting":
        if kind == "Classifier":
            params.append(("voting", "soft"))
        return ModelSpec("committee", f"Voting{kind}", tuple(params))
    return ModelSpec("committee", f"Stacking{kind}", (*params, ("cv", 3)))
