"""Bounds of learning theory for boosted ensembles."""

from __future__ import annotations

from math import exp, log

from committee.constraints import show_value
from committee.exceptions import ParameterError
from committee.inspection.resampling import check_count
from committee.value_checks import is_real

__all__ = ["edge_bound", "vc_bound"]


def vc_bound(n_members: int, vc_dimension: int) -> float:
    """Bound of the VC dimension of weighted votes over members of one class [ShalevShwartz2014].

    M members of a class of VC dimension d: at most M (d + 1) (3 log(M (d + 1)) + 2). This is Lemma 10.3 of the book,
    which is proved for M and d of at least 3; [FreundSchapire1997] give 2 (d + 1) (M + 1) log2(e (M + 1)).

    Parameters
    ----------
    n_members : int
        M, at least 1.
    vc_dimension : int
        d, at least 1. That of stumps on one feature is 2.

    Returns
    -------
    float

    Examples
    --------
    >>> round(vc_bound(100, 2))
    5733
    """
    n_members, vc_dimension = check_count("n_members", n_members, 1), check_count("vc_dimension", vc_dimension, 1)
    size = n_members * (vc_dimension + 1)
    return size * (3.0 * log(size) + 2.0)


def edge_bound(edge: float, n_members: int) -> float:
    """Bound of AdaBoost's training error if every member has an edge over chance: exp(-2 gamma^2 M).

    Parameters
    ----------
    edge : float
        gamma, in [0, 1/2]: every member's weighted error is at most 1/2 - gamma.
    n_members : int
        M.

    Returns
    -------
    float

    Examples
    --------
    >>> round(edge_bound(0.1, 200), 3)
    0.018
    """
    n_members = check_count("n_members", n_members, 1)
    if not is_real(edge) or not 0.0 <= edge <= 0.5:
        raise ParameterError(f"The 'edge' argument must be a float in [0, 0.5]; got {show_value(edge)}.")
    return exp(-2.0 * edge**2 * n_members)
