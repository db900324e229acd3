"""Checks of the members of automatic models that are no ensembles: linear models, neighbours, kernels, words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from committee.io.requirements import is_a, is_array, is_count, require

__all__ = ["BASELINE_CHECKS"]


def _check_encoding(encoding: Any) -> None:
    n_numbers, n_levels = len(encoding.numbers), len(encoding.level_columns)
    columns = (encoding.numbers, encoding.gaps, encoding.level_columns)
    require(all(is_array(part, "i", len(part)) for part in columns), "columns are counted")
    require(all((part >= 0).all() for part in columns), "columns are counted")
    require(is_array(encoding.means, "f", n_numbers), "every number must have a mean")
    require(is_array(encoding.scales, "f", n_numbers), "every number must have a scale")
    require(is_array(encoding.level_codes, "i", n_levels), "every level must have a code")


def _count_outputs(member: Any) -> int:
    """Number of outputs of a baseline member: a probability for each class, or a value."""
    classes = member.classes_
    require(
        isinstance(member.classify, bool) and (classes is None) != member.classify, "classes or values are predicted"
    )
    require(classes is None or (isinstance(classes, np.ndarray) and classes.ndim == 1), "classes are listed")
    return 1 if classes is None else len(classes)


def _count_encoded(member: Any) -> int:
    encoding = member.encoding_
    require(is_a(encoding, "TableEncoding"), "members need numbers")
    return len(encoding.numbers) + len(encoding.gaps) + len(encoding.level_columns)


def _check_prior(member: Any) -> None:
    require(is_array(member.means_, "f", _count_outputs(member)), "every class must have a share")


def _check_linear(member: Any) -> None:
    width = _count_outputs(member)
    require(is_array(member.coef_, "f", width, _count_encoded(member)), "every number must have a coefficient")
    require(is_array(member.intercept_, "f", width), "every class must have an intercept")


def _check_neighbours(member: Any) -> None:
    width, n_rows = _count_outputs(member), len(member.counts_)
    require(is_array(member.table_, "f", n_rows, _count_encoded(member)) and n_rows, "rows have the same numbers")
    require(is_array(member.goal_, "f", n_rows, width), "every row must have a target")
    counted = is_array(member.counts_, "f", n_rows) and np.isfinite(member.counts_).all()
    require(counted and (member.counts_ > 0.0).all(), "every row must count")


def _check_kernel(member: Any) -> None:
    width, n_landmarks = _count_outputs(member), len(member.landmarks_)
    require(is_array(member.landmarks_, "f", n_landmarks, _count_encoded(member)), "landmarks are rows")
    require(is_array(member.coef_, "f", n_landmarks, width), "every landmark must have a factor")
    require(is_array(member.intercept_, "f", width), "every class must have an intercept")
    require(isinstance(member.width_, float) and member.width_ > 0.0, "a kernel has a width")
    require(isinstance(member.slope_, float), "a kernel has a slope")


def _check_fold_kernel(member: Any) -> None:
    _check_kernel(member)
    require(is_count(member.n_columns_), "columns are counted")


def _check_network(member: Any) -> None:
    columns, n_pieces = member.piece_columns_, len(member.piece_columns_)
    require(is_array(columns, "i", n_pieces) and (columns >= 0).all(), "columns are counted")
    require(is_count(member.n_columns_), "columns are counted")
    known = is_array(member.piece_starts_, "f", n_pieces) and is_array(member.piece_widths_, "f", n_pieces)
    require(known, "pieces have a start and a width")
    layers = isinstance(member.coefs_, list) and isinstance(member.intercepts_, list) and len(member.coefs_) > 0
    require(layers and len(member.coefs_) == len(member.intercepts_), "a network has layers")
    width = _count_encoded(member) + n_pieces
    for coef, intercept in zip(member.coefs_, member.intercepts_, strict=True):
        require(is_array(intercept, "f", len(intercept)), "every unit must have an intercept")
        require(is_array(coef, "f", len(intercept), width), "every unit must have a coefficient for each below")
        width = len(intercept)
    require(width == _count_outputs(member), "every class must have an output")


def _check_bayes(member: Any) -> None:
    width, n_features = _count_outputs(member), len(member.n_levels_)
    counted = is_array(member.n_levels_, "i", n_features) and (member.n_levels_ >= 0).all()
    require(counted and isinstance(member.cuts_, list) and len(member.cuts_) == n_features, "every feature has bins")
    for cuts, n_levels in zip(member.cuts_, member.n_levels_, strict=True):
        require(is_array(cuts, "f", len(cuts)) and len(cuts) <= n_levels, "bins lie between thresholds")
    n_bins = int(member.n_levels_.sum()) + n_features
    require(is_array(member.logs_, "f", n_bins, width), "every bin must have a share of each class")
    require(is_array(member.prior_, "f", width), "every class must have a share")
    require(isinstance(member.slope_, float), "naive Bayes has a slope")


def _count_terms(member: Any, table: Any, n_answers: int) -> None:
    """The last columns of a table of coefficients are those of terms."""
    require(is_count(member.n_columns), "columns are counted")
    known = isinstance(table, np.ndarray) and table.ndim == 2
    require(known and is_array(table, "f", n_answers, table.shape[1]), "every term must have a coefficient")


def _check_word_linear(member: Any) -> None:
    width = _count_outputs(member)
    _count_terms(member, member.coef_, width)
    require(member.coef_.shape[1] > _count_encoded(member), "every number must have a coefficient")
    require(is_array(member.intercept_, "f", width), "every class must have an intercept")


def _check_word_bayes(member: Any) -> None:
    width = _count_outputs(member)
    _count_terms(member, member.logs_, width)
    require(is_array(member.prior_, "f", width), "every class must have a share")


def _check_words(words: Any) -> None:
    n_terms = len(words.terms)
    known = is_array(words.terms, "O", n_terms) and all(isinstance(term, str) for term in words.terms)
    require(known and len(set(words.terms)) == n_terms, "terms are distinct words")
    require(is_array(words.rarities, "f", n_terms), "every term must have a rarity")
    require(isinstance(words.axes, np.ndarray) and words.axes.ndim == 2, "themes are axes")
    require(is_array(words.axes, "f", n_terms, words.axes.shape[1]), "every term must be in the themes")


def _check_texts(texts: Any) -> None:
    listed = isinstance(texts.places, tuple) and all(is_count(k) for k in texts.places)
    require(listed and isinstance(texts.words, tuple) and len(texts.words) == len(texts.places), "texts have places")
    require(all(is_a(words, "WordEncoding") for words in texts.words), "texts are made of words")


def _check_logs(scale: Any) -> None:
    require(all(isinstance(v, float) for v in (scale.factor, scale.lowest, scale.highest)), "scales are numbers")
    require(scale.lowest <= scale.highest and hasattr(scale.member, "predict"), "logarithms are predicted")


def _check_pairs(pairs: Any) -> None:
    n_columns = len(pairs.numbers)
    known = is_array(pairs.numbers, "i", n_columns) and n_columns > 1 and (pairs.numbers >= 0).all()
    require(known and is_array(pairs.scales, "f", n_columns) and (pairs.scales > 0.0).all(), "pairs have scales")


def _check_paired(member: Any) -> None:
    require(is_a(member.pairs, "ColumnPairs") and hasattr(member.model, "predict"), "pairs of columns have a model")
    n_features = getattr(member.model, "n_features_in_", None)
    known = is_count(n_features) and member.pairs.numbers.max() < n_features - member.pairs.n_added
    require(known, "pairs are of columns of the table")


def _check_stack(member: Any) -> None:
    bases, classes = member.bases, member.classes
    known = (
        isinstance(bases, list) and len(bases) > 0 and all(hasattr(one, "predict") for one in (*bases, member.model))
    )
    require(known, "a second layer has a first one")
    listed = isinstance(classes, list) and len(classes) == 1 and isinstance(classes[0], np.ndarray)
    require(classes is None or listed, "classes are listed")


BASELINE_CHECKS: dict[str, Callable[[Any], None]] = {
    "TableEncoding": _check_encoding,
    "PriorMember": _check_prior,
    "LinearMember": _check_linear,
    "NeighbourMember": _check_neighbours,
    "KernelMember": _check_kernel,
    "FoldKernelMember": _check_fold_kernel,
    "NeuralMember": _check_network,
    "BayesMember": _check_bayes,
    "WordLinearMember": _check_word_linear,
    "WordBayesMember": _check_word_bayes,
    "WordEncoding": _check_words,
    "TextReader": _check_texts,
    "LogScale": _check_logs,
    "ColumnPairs": _check_pairs,
    "PairedMember": _check_paired,
    "StackedMember": _check_stack,
}
"""The check of each class of these members and their parts, by its name in model files."""
