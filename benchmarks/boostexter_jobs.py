"""Jobs that the child processes of the text suite run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Outcome, time_fit

WARM_UP = (["one word", "two words", "other words", "last word"], ["a", "b", "a", "b"])


@dataclass(frozen=True)
class Texts:
    """Training and test documents, the training target and the test labels as an indicator matrix."""

    documents: NDArray[Any]
    target: NDArray[Any]
    test_documents: NDArray[Any]
    test_labels: NDArray[Any]
    classes: NDArray[Any]


def read_reuters(name: str, step: int = 1, whole: bool = False) -> Texts:
    """Read a Reuters data set: every `step`-th document; with `whole`, all documents are training data."""
    import pandas
    from sklearn.preprocessing import LabelBinarizer, MultiLabelBinarizer

    table = pandas.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
    documents = (table["title"].fillna("") + "\n" + table["text"].fillna("")).to_numpy(dtype=object)
    if "multilabel" in name:
        labels = MultiLabelBinarizer().fit_transform(table["target"].str.split("|"))
        target, classes = labels, np.arange(labels.shape[1])
    else:
        target = table["target"].astype(str).to_numpy(dtype=object)
        labels, classes = LabelBinarizer().fit_transform(target), np.unique(target)
    split = table["split"].to_numpy()
    train = np.arange(len(table)) if whole else np.flatnonzero(split == "train")[::step]
    test = np.flatnonzero(split == "test")[::step]
    return Texts(documents[train], target[train], documents[test], labels[test], classes)


def make_classifier(contender: str, n_rounds: int, threads: int, multilabel: bool) -> Any:
    """A classifier or pipeline that takes text."""
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.naive_bayes import BernoulliNB as TheirBernoulliNB
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    from committee import BernoulliNB, BoosTexterClassifier

    if contender.startswith("committee"):
        kind = contender.partition(", ")[2]
        if kind == "Bernoulli naive Bayes":
            return make_pipeline(CountVectorizer(binary=True), BernoulliNB())
        return BoosTexterClassifier(algorithm=kind or "real", n_estimators=n_rounds, n_jobs=threads)
    if contender == "scikit-learn, AdaBoost of stumps":
        return make_pipeline(CountVectorizer(binary=True), AdaBoostClassifier(n_estimators=n_rounds))
    if contender == "scikit-learn, Bernoulli naive Bayes":
        return make_pipeline(CountVectorizer(binary=True), TheirBernoulliNB())
    bayes = MultinomialNB()
    return make_pipeline(CountVectorizer(), OneVsRestClassifier(bayes) if multilabel else bayes)


def find_breakeven(has: NDArray[Any], scores: NDArray[np.float64]) -> float:
    """Precision where it equals recall: select as many top-scored pairs as there are true pairs."""
    chosen = np.argsort(-scores, axis=None, kind="stable")[: int(has.sum())]
    return float(has.ravel()[chosen].mean())


def score_labels(model: Any, texts: Texts, multilabel: bool) -> dict[str, float]:
    """The metrics of the paper, and the averages of F1 that later work reports."""
    from sklearn.metrics import coverage_error, f1_score, hamming_loss, label_ranking_average_precision_score

    has, documents = texts.test_labels, texts.test_documents
    method = "decision_function" if hasattr(model, "decision_function") else "predict_log_proba"
    if method == "predict_log_proba" and multilabel:
        method = "predict_proba"
    found = getattr(model, method)(documents)
    # A class that is not in the training set is ranked last.
    scores = np.full(has.shape, found.min() - 1.0)
    scores[:, slice(None) if multilabel else np.searchsorted(texts.classes, model.classes_)] = found
    first = scores.argmax(axis=1)
    predicted = model.predict(documents) if multilabel else np.eye(has.shape[1], dtype=int)[first]
    return {
        "one_error": float(1.0 - has[np.arange(len(has)), first].mean()),
        # scikit-learn's coverage is the rank of the last true label counted from one, the paper's from zero.
        "coverage": float(coverage_error(has, scores) - 1.0),
        "average_precision": float(label_ranking_average_precision_score(has, scores)),
        "hamming_loss": float(hamming_loss(has, predicted)),
        "micro_f1": float(f1_score(has, predicted, average="micro", zero_division=0)),
        "breakeven": find_breakeven(has, scores),
        "macro_f1": float(f1_score(has, predicted, average="macro", zero_division=0)),
    }


def fit_texts(contender: str, data: dict[str, Any], n_rounds: int, threads: int, repeats: int) -> Outcome:
    texts, multilabel = read_reuters(**data), "multilabel" in data["name"]
    make_classifier(contender, 2, threads, False).fit(*WARM_UP)
    model, outcome = time_fit(
        lambda: make_classifier(contender, n_rounds, threads, multilabel).fit(texts.documents, texts.target), repeats
    )
    measures = score_labels(model, texts, multilabel)
    outcome |= {"score": 1.0 - measures["one_error"], "measures": measures, "n_documents": len(texts.documents)}
    if hasattr(model, "training_error_bound"):
        outcome["bound"] = float(model.training_error_bound()[-1])
    return outcome
