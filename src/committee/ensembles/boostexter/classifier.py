"""BoosTexter: AdaBoost.MH with stumps on the presence of words [SchapireSinger2000]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import MultiOutputMixin, clone
from sklearn.feature_extraction.text import CountVectorizer

from committee.base import (
    ClassifierScoreMixin,
    CommitteeEstimator,
    not_fitted_error,
    resolve_jobs,
    resolve_seed,
)
from committee.data.intake import take_in, take_in_rows
from committee.data.opening import opens_table
from committee.data.rows import count_rows
from committee.data.texts import read_texts
from committee.data.weights import count_as_rows, read_sample_weight
from committee.engines import get_engine
from committee.ensembles.boostexter.documents import (
    check_documents,
    learn_words,
    make_word_table,
    mark_present,
    read_labels,
    select_documents,
)
from committee.ensembles.boostexter.model import BoosTexterEarlyStopping, LabelTarget, WordRounds, WordVotes, make_stump
from committee.ensembles.boostexter.params import (
    BoosTexterAlgorithm,
    BoosTexterPatience,
    BoosTexterRounds,
    NgramRange,
    PresenceThreshold,
    Vectorizer,
    VoteSmoothing,
)
from committee.ensembles.fit_callbacks import FitCallbacksMixin, FitInput, should_stop
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, DataTypeError, ParameterError, warn_caller
from committee.learners.log_probabilities import LogProbabilitiesMixin
from committee.params import HoldOutFraction, NJobs, RandomState, Verbose, WarmStart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.data import Schema
    from committee.typing import AnyArray, FloatArray

__all__ = ["BoosTexterClassifier"]

_LARGEST_SMOOTHING = 1e15
"""All votes are nearly zero already."""

_OPTIONAL = ("feature_names_in_", "validation_errors_")
"""Fitted attributes that not every fit has."""
_USELESS = 1.0 - 1e-12
"""A normaliser from which on no word separates the labels any more."""


class BoosTexterClassifier(
    ClassifierScoreMixin,
    LogProbabilitiesMixin,
    MultiOutputMixin,  # type: ignore[misc]
    FitCallbacksMixin,
    CommitteeEstimator,
):
    """AdaBoost.MH for text: each round fits a stump on the presence of one word, with a vote for every label.

    Pairs of a document i and a label l have weights D(i, l), equal at first, and signs Y(i, l) = +1 if i has label l,
    -1 otherwise. Each round t takes the word whose stump h_t(x, l) has the smallest normaliser
    Z_t = Σ D_t(i, l) exp(-Y(i, l) h_t(x_i, l)), and sets
    D_{t+1}(i, l) = D_t(i, l) exp(-Y(i, l) h_t(x_i, l)) / Z_t [SchapireSinger2000]. With W+ and W- the weights of the
    pairs of either sign among the documents with (or without) the word, the vote of a real-valued stump is
    ½ log((W+ + ε) / (W- + ε)). The score of a label is f(x, l) = Σ_t h_t(x, l); a document gets the class with the
    largest score or, if the target is multilabel, every label with a positive one. The fraction of wrong pairs
    in training (the Hamming loss) is at most Π_t Z_t.

    Probabilities follow from the minimiser of the exponential loss, half the log-odds:
    P(l | x) = 1 / (1 + exp(-2 f(x, l))), divided by their sum over classes if the target is not multilabel.

    A round costs one addition for each word of each document and each label. Sums are integers: the result is the
    same for any number of threads.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted; of a multilabel target the numbers of its columns.
    words_ : ndarray of shape (n_rounds,)
        The word of each round: its text if the vectoriser has names, a column name or number otherwise.
    votes_ : ndarray of shape (n_rounds, 2, n_labels)
        h_t: votes where the word is absent, and where it is present. For two classes there is one column, for the
        second; the votes for the first are their opposite.
    estimator_weights_ : ndarray of shape (n_rounds,)
        α_t of discrete stumps; 1 for real ones, whose votes hold it.
    normalizers_ : ndarray of shape (n_rounds,)
        Z_t.
    validation_errors_ : ndarray of shape (n_rounds tried,)
        Error on the validation set after each round, if ``n_iter_no_change`` is set.
    vectorizer_ : object
        The fitted vectoriser, or None.
    n_features_in_ : int
        Number of words.

    Examples
    --------
    >>> from committee import BoosTexterClassifier
    >>> texts = ["free money now", "meeting at noon", "money for free", "noon meeting now", "now or never"]
    >>> model = BoosTexterClassifier(n_estimators=4).fit(texts, ["spam", "ham", "spam", "ham", "ham"])
    >>> model.predict(["free lunch", "lunch meeting"]).tolist()
    ['spam', 'ham']
    >>> model.words_[0]
    'free'
    """

    accepts_blocks: ClassVar[bool] = False

    accepts_missing = False
    accepts_categories = False
    bins_columns = False

    classes_: AnyArray
    words_: AnyArray
    votes_: FloatArray
    estimator_weights_: FloatArray
    normalizers_: FloatArray
    _seed: int
    _model: WordVotes
    _schema: Schema | None
    _target: LabelTarget
    vectorizer_: Any

    def __init__(
        self,
        *,
        algorithm: BoosTexterAlgorithm = "real",
        n_estimators: BoosTexterRounds = 200,
        vectorizer: Vectorizer = None,
        ngram_range: NgramRange = (1, 1),
        binarize: PresenceThreshold = 0.0,
        smoothing: VoteSmoothing = None,
        n_iter_no_change: BoosTexterPatience = None,
        validation_fraction: HoldOutFraction = 0.1,
        warm_start: WarmStart = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
    ) -> None:
        self._store_params(locals())

    # Fitting.

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : list, array or column of str, or array-like or sparse matrix of shape (n_samples, n_words)
            Documents, or a table of the words that they contain.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            A class for each document, or zeros and ones for its labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each document; a document of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        documents, schema = self._read_documents(X)
        n_rows = count_rows(documents)
        weights = np.ones(n_rows) if sample_weight is None else read_sample_weight(sample_weight, n_rows)
        target = read_labels(y, n_rows, type(self).__name__, weights > 0)
        if not weights.all():
            documents, weights = select_documents(documents, np.flatnonzero(weights)), weights[weights > 0]
        kept = self._find_kept(schema, target)
        words, vectorizer = self._make_words(documents, schema, kept)
        seed = resolve_seed(self.random_state) if kept is None else self._seed
        fitted = {"_schema": schema, "_seed": seed, "vectorizer_": vectorizer, "n_features_in_": words.shape[1]}
        given = FitInput(X, y, sample_weight)
        self._boost(words, target, count_as_rows(weights), kept, fitted, given)
        return self

    def _boost(
        self,
        words: csr_matrix,
        target: LabelTarget,
        weights: FloatArray,
        kept: WordRounds | None,
        fitted: dict[str, Any],
        given: FitInput,
    ) -> None:
        """The algorithm of the paper, on a table of words."""
        n_jobs, n_rounds = resolve_jobs(self.n_jobs), int(self.n_estimators)
        training, stopping = self._hold_out(words, target, weights, fitted["_seed"])
        engine = get_engine()
        table = make_word_table(words[training], target.has[training])
        smoothing = self._choose_smoothing(target, weights[training].sum())
        rounds = WordRounds()
        D = engine.LabelWeights(table, weights[training])  # D_1(i, l) = w_i / k, normalised
        for stump in () if kept is None else kept.make_stumps(engine):
            rounds.append(stump, table.reweight(D, stump, n_jobs))
            stopping.update(stump)

        def list_partial(n_done: int) -> dict[str, Any]:
            stale = dict.fromkeys(name for name in _OPTIONAL if name in self.__dict__)
            return {**stale, **self._list_fitted(fitted, target, rounds.truncate(n_done))}

        verbose, n_kept = int(self.verbose), len(rounds)
        with show_progress(
            "Boosting words",
            n_rounds,
            verbose=verbose,
            estimator=self,
            done=n_kept,
            given=given,
            partial_fit=list_partial,
        ) as on_progress:
            while len(rounds) < n_rounds and not stopping.should_stop and not should_stop(on_progress):
                best = table.find_best_word(D, self.algorithm, smoothing, n_jobs)  # the smallest Z
                if len(rounds) and best.score >= _USELESS:
                    break
                stump = make_stump(engine, best.word, best.votes, best.alpha)
                Z = table.reweight(D, stump, n_jobs)  # D_{t+1} = D_t exp(-Y h_t) / Z_t
                rounds.append(stump, Z)
                stopping.update(stump)
                if on_progress is not None:
                    on_progress(len(rounds))
            if stopping.n_best is not None:
                rounds = rounds.truncate(stopping.n_best)
                fitted = {**fitted, "validation_errors_": np.array(stopping.errors)}
            # At once: a failed or interrupted fit leaves the estimator unchanged.
            self._replace_fitted(self._list_fitted(fitted, target, rounds), _OPTIONAL)

    def _choose_smoothing(self, target: LabelTarget, n_documents: float) -> float:
        """ε in units of the total weight of the engine's pairs."""
        if self.smoothing is None:
            smoothing = 1.0 / (n_documents * len(target.classes))
        else:
            smoothing = min(float(self.smoothing), _LARGEST_SMOOTHING)
        # For two classes the engine has the pairs of one, half of all; r of discrete stumps is relative in any case.
        return 2.0 * smoothing if target.binary and self.algorithm != "discrete" else smoothing

    def _hold_out(
        self, words: csr_matrix, target: LabelTarget, weights: FloatArray, seed: int
    ) -> tuple[slice | NDArray[np.intp], BoosTexterEarlyStopping]:
        """Rows of the training set, and early stopping by the others."""
        n_rows = words.shape[0]
        if self.n_iter_no_change is None:
            return slice(None), BoosTexterEarlyStopping(words[:0], target, np.arange(0), weights, None)
        n_held_out = max(1, int(self.validation_fraction * n_rows))
        if n_held_out >= n_rows:
            raise DataError(
                f"{type(self).__name__} needs at least 2 documents for early stopping (n_iter_no_change); got {n_rows}."
            )
        order = np.random.default_rng(seed).permutation(n_rows)
        rows = np.sort(order[:n_held_out])
        stopping = BoosTexterEarlyStopping(words[rows], target, rows, weights, int(self.n_iter_no_change))
        return np.sort(order[n_held_out:]), stopping

    def _list_fitted(self, fitted: dict[str, Any], target: LabelTarget, rounds: WordRounds) -> dict[str, Any]:
        """Fitted attributes by name, those of the rounds besides the given ones."""
        model = rounds.finalize()
        schema, names = fitted["_schema"], None
        if schema is None:
            if hasattr(fitted["vectorizer_"], "get_feature_names_out"):
                names = np.asarray(fitted["vectorizer_"].get_feature_names_out(), dtype=object)
        elif schema.feature_names is not None:
            names = np.asarray(schema.feature_names, dtype=object)
            fitted = {**fitted, "feature_names_in_": names}
        return {
            **fitted,
            "classes_": target.classes,
            "words_": model.words.copy() if names is None else names[model.words],
            "votes_": model.votes,
            "estimator_weights_": np.array(rounds.alphas),
            "normalizers_": np.array(rounds.normalizers),
            "_target": target.without_rows(),
            "_model": model,
        }

    # Documents.

    def _read_documents(self, X: Any) -> tuple[Any, Schema | None]:
        """Documents for the vectoriser and None, or a table of words and its schema."""
        if self.vectorizer is not None:
            if self.ngram_range != (1, 1):
                raise ParameterError(
                    f"The 'ngram_range' parameter of {type(self).__name__} is for its own vectoriser; set it on "
                    f"the one that is passed as 'vectorizer' instead; got {self.ngram_range}."
                )
            return check_documents(X), None
        texts = read_texts(X)
        if texts is not None:
            return texts, None
        dataset = take_in(self, X, task="none")
        return mark_present(dataset.X, self.binarize, type(self).__name__), dataset.schema

    def _make_words(self, documents: Any, schema: Schema | None, kept: WordRounds | None) -> tuple[csr_matrix, Any]:
        """The table of words, and the vectoriser that made it."""
        if schema is not None:
            return documents, None
        if kept is not None:
            return mark_present(self.vectorizer_.transform(documents)), self.vectorizer_
        default = CountVectorizer(binary=True, ngram_range=self.ngram_range)
        vectorizer = default if self.vectorizer is None else clone(self.vectorizer)
        return learn_words(vectorizer, documents), vectorizer

    def _find_kept(self, schema: Schema | None, target: LabelTarget) -> WordRounds | None:
        """Rounds of the last fit that this one adds to."""
        if not (self.warm_start and self.__sklearn_is_fitted__()):
            return None
        n_kept, name = len(self.words_), type(self).__name__
        if n_kept > self.n_estimators:
            raise ParameterError(
                f"The 'n_estimators' parameter of {name} must be at least the {n_kept} rounds that are kept "
                f"(warm_start=True); got {self.n_estimators}."
            )
        if n_kept == self.n_estimators:
            warn_caller("Warm-start fitting without increasing n_estimators does not add rounds.", UserWarning)
        old, other_words = self._schema, False
        if old is not None and schema is not None:
            other_words = (old.n_features, old.feature_names) != (schema.n_features, schema.feature_names)
        same_labels = target.multilabel == self._target.multilabel and np.array_equal(target.classes, self.classes_)
        if other_words or (old is None) != (schema is None) or not same_labels:
            raise DataError(
                f"{name} cannot keep its rounds (warm_start=True): these data have other words or labels than those "
                "that it was fitted on."
            )
        return WordRounds(
            self._model.words.tolist(), list(self.votes_), self.estimator_weights_.tolist(), self.normalizers_.tolist()
        )

    # Predictions.

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _read_words(self, X: Any) -> csr_matrix:
        name = type(self).__name__
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self)
        if self._schema is not None:
            if read_texts(X) is not None:
                raise DataTypeError(f"{name} was fitted on a table of words and cannot read text.")
            return mark_present(take_in_rows(self, X, self._schema), self.binarize, type(self).__name__)
        documents = check_documents(X) if self.vectorizer is not None else read_texts(X)
        if documents is None:
            raise DataTypeError(f"{name} was fitted on text; X must be a list, array or column of str.")
        return mark_present(self.vectorizer_.transform(documents))

    def _score(self, X: Any) -> FloatArray:
        words = self._read_words(X)  # refuses a model that is not fitted
        return self._model.score(words)

    def _staged_scores(self, X: Any) -> Iterator[FloatArray]:
        words = self._read_words(X)
        return self._model.staged_scores(words)

    def decision_function(self, X: Any) -> FloatArray:
        """Score f(x, l) of each label.

        Parameters
        ----------
        X : as in `fit`
            Documents.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or, for two classes, (n_samples,)
            For two classes the score of the second one.
        """
        scores = self._score(X)
        return self._target.to_decision(scores)

    def predict(self, X: Any) -> AnyArray:
        """Class of each document, or zeros and ones for its labels.

        Parameters
        ----------
        X : as in `fit`
            Documents.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            The class with the largest score, the first of equals; of a multilabel target one where the score is
            positive.
        """
        scores = self._score(X)
        return self._target.to_labels(scores)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class or label: 1 / (1 + exp(-2 f)), over classes divided by the sum.

        Parameters
        ----------
        X : as in `fit`
            Documents.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        scores = self._score(X)
        return self._target.to_proba(scores)

    def rank_labels(self, X: Any) -> AnyArray:
        """Labels of each document from the most to the least probable.

        Parameters
        ----------
        X : as in `fit`
            Documents.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Elements of ``classes_``; equal scores keep their order.
        """
        scores = self._score(X)
        order = np.argsort(-self._target.to_class_scores(scores), axis=1, kind="stable")
        ranked: AnyArray = self.classes_[order]
        return ranked

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """`decision_function` after each round.

        Parameters
        ----------
        X : as in `fit`
            Documents.

        Yields
        ------
        As `decision_function`.
        """
        return (self._target.to_decision(scores) for scores in self._staged_scores(X))

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """`predict` after each round.

        Parameters
        ----------
        X : as in `fit`
            Documents.

        Yields
        ------
        As `predict`.
        """
        return (self._target.to_labels(scores) for scores in self._staged_scores(X))

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """`predict_proba` after each round.

        Parameters
        ----------
        X : as in `fit`
            Documents.

        Yields
        ------
        As `predict_proba`.
        """
        return (self._target.to_proba(scores) for scores in self._staged_scores(X))

    def training_error_bound(self) -> FloatArray:
        """Bound of the (weighted) Hamming loss in training after each round: Z_1 Z_2 ... Z_t.

        Returns
        -------
        ndarray of shape (n_rounds,)
        """
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self)
        return np.cumprod(self.normalizers_).astype(np.float64)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        # In most tables the sign of a value says little.
        tags.classifier_tags.poor_score = True
        return tags
