"""Which members of an ensemble are fitted on one shared set of bins; all others get the table as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from sklearn.utils import get_tags

from committee.data.intake import take_in
from committee.data.passing import pass_in
from committee.learners.tree_base import BaseTree

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from committee.base import CommitteeEstimator
    from committee.data import Dataset
    from committee.typing import FloatMatrix, SparseMatrix, Task

__all__ = ["can_share_bins", "copy_input_tags", "read_dataset_rows", "take_in_for_members"]


def can_share_bins(estimator: object, task: Task) -> TypeGuard[BaseTree]:
    """Whether members are trees of this library for the same task, fitted by the library's own `fit`.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> can_share_bins(DecisionTreeClassifier(), "classify"), can_share_bins(DecisionTreeClassifier(), "regress")
    (True, False)
    """
    return isinstance(estimator, BaseTree) and estimator.task == task and type(estimator).fit is BaseTree.fit


def take_in_for_members(
    owner: CommitteeEstimator,
    tree: BaseTree | None,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    task: Task,
    multi_output: bool = True,
) -> Dataset:
    """Read what `fit` got as the members of an ensemble can read it.

    Trees that share bins need numbers and codes. All other members read the table by themselves, and get it as it is.

    Parameters
    ----------
    owner : estimator
        The ensemble, for its name in the sentences.
    tree : BaseTree or None
        The members, if they share bins.
    X, y, sample_weight
        As `fit` got them.
    task : {"classify", "regress"}
        What the ensemble predicts.
    multi_output : bool, default=True
        Whether y may have several outputs.

    Returns
    -------
    Dataset
        For members that do not share bins, its X is the table that they are fitted on.
    """
    if tree is None:
        return pass_in(owner, X, y, sample_weight, task=task, multi_output=multi_output)
    return take_in(
        owner,
        X,
        y,
        sample_weight,
        task=task,
        categorical_features=tree.categorical_features,
        unseen=tree.unseen,
        text_columns=tree.text_columns,
        multi_output=multi_output,
    )


def copy_input_tags(tags: Tags, member: object) -> None:
    """What an ensemble can be fitted on is what its member can; but rows are sampled, so that X is no kernel matrix."""
    tags.input_tags = replace(get_tags(member).input_tags, pairwise=False)


def read_dataset_rows(dataset: Dataset) -> FloatMatrix | SparseMatrix:
    """The training rows in the form that trees predict from."""
    return dataset.X.tocsr() if hasattr(dataset.X, "tocsr") else dataset.X
