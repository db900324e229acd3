"""BoosTexter: the paper's rounds, its bound, text and tables, classes and labels."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.metrics import coverage_error, hamming_loss, label_ranking_average_precision_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import MultiLabelBinarizer

from committee import BoosTexterClassifier
from committee.exceptions import DataError
from tests.interrupts import count_polls, interrupt_at_poll
from tests.naive.boostexter import boost_words

KINDS = ("real", "abstaining", "discrete")
every_kind = pytest.mark.parametrize("kind", KINDS)

TEXTS = [
    "wheat prices rise in europe",
    "corn and wheat harvest falls",
    "bank cuts interest rate",
    "interest rate of the bank rises",
    "oil prices fall",
    "crude oil output rises",
    "bank lends to oil company",
    "wheat exports by ship",
]
TOPICS = ["grain", "grain", "money", "money", "oil", "oil", "money", "grain"]


def draw_words(seed: int = 0, n: int = 150, d: int = 25, k: int = 4) -> tuple[Any, Any]:
    """Words, each likelier in documents of some labels, and the labels."""
    rng = np.random.default_rng(seed)
    has = (rng.random((n, k)) < 0.35).astype(int)
    leaning = rng.random((k, d)) < 0.3
    X = (rng.random((n, d)) < 0.08 + 0.35 * (has @ leaning > 0)).astype(float)
    return X, has


@every_kind
def test_labels_are_boosted_as_in_the_paper(kind: str) -> None:
    X, has = draw_words()
    model = BoosTexterClassifier(algorithm=kind, n_estimators=15).fit(X, has)
    words, votes, normalizers = boost_words(X, 2 * has - 1, kind, 15)
    np.testing.assert_array_equal(model.words_, words)
    np.testing.assert_allclose(model.votes_, votes, atol=1e-9)
    np.testing.assert_allclose(model.normalizers_, normalizers, rtol=1e-9)
    F = sum(vote[X[:, word].astype(int)] for word, vote in zip(words, votes, strict=True))
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), F > 0)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-2 * F)))


@every_kind
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("smoothing", [None, 0.01])
def test_classes_are_boosted_as_labels_of_which_there_is_one(kind: str, k: int, smoothing: float | None) -> None:
    X, has = draw_words(1, k=k)
    y = np.array(["a", "b", "c"])[has.argmax(axis=1)]
    classes = np.unique(y)
    model = BoosTexterClassifier(algorithm=kind, n_estimators=12, smoothing=smoothing).fit(X, y)
    Y = np.where(y[:, None] == classes, 1, -1)
    words, votes, normalizers = boost_words(X, Y, kind, 12, smoothing=smoothing)
    np.testing.assert_array_equal(model.words_, words)
    np.testing.assert_allclose(model.normalizers_, normalizers, rtol=1e-9)
    F = sum(vote[X[:, word].astype(int)] for word, vote in zip(words, votes, strict=True))
    np.testing.assert_allclose(model.decision_function(X), F[:, 1] if k == 2 else F, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), classes[F.argmax(axis=1)])
    probabilities = 1 / (1 + np.exp(-2 * F))
    np.testing.assert_allclose(
        model.predict_proba(X), probabilities / probabilities.sum(axis=1, keepdims=True), atol=1e-12
    )
    ranked = model.rank_labels(X)
    np.testing.assert_array_equal(ranked[:, 0], model.predict(X))
    np.testing.assert_array_equal(ranked, classes[np.argsort(-F.round(9), axis=1, kind="stable")])


@every_kind
def test_the_bound_holds_in_every_round(kind: str) -> None:
    for seed in range(3):
        X, has = draw_words(seed)
        weights = np.random.default_rng(seed).random(len(X))
        model = BoosTexterClassifier(algorithm=kind, n_estimators=40).fit(X, has, sample_weight=weights)
        bounds = model.training_error_bound()
        assert (np.diff(bounds) <= 1e-12).all()
        for bound, predicted in zip(bounds, model.staged_predict(X), strict=True):
            assert hamming_loss(has, predicted, sample_weight=weights) <= bound + 1e-12
        # The product of the normalisers is the exponential loss itself.
        loss = np.exp(-(2 * has - 1) * model.decision_function(X)).mean(axis=1)
        assert bounds[-1] == pytest.approx(np.average(loss, weights=weights), rel=1e-9)


@every_kind
def test_stages_end_at_the_whole(kind: str) -> None:
    X, has = draw_words(2)
    for y in (has, has.argmax(axis=1), has[:, 0]):
        model = BoosTexterClassifier(algorithm=kind, n_estimators=9).fit(X, y)
        for name in ("decision_function", "predict_proba"):
            stages = list(getattr(model, f"staged_{name}")(X))
            assert len(stages) == 9
            np.testing.assert_allclose(stages[-1], getattr(model, name)(X), atol=1e-12)
        *_, last = model.staged_predict(X)
        np.testing.assert_array_equal(last, model.predict(X))
        short = BoosTexterClassifier(algorithm=kind, n_estimators=4).fit(X, y)
        np.testing.assert_allclose(list(model.staged_decision_function(X))[3], short.decision_function(X), atol=1e-12)


# --- text ----------------------------------------------------------------------------------------------------------


def test_every_kind_of_text_gives_the_same_model() -> None:
    model = BoosTexterClassifier(n_estimators=6).fit(TEXTS, TOPICS)
    assert set(model.words_) <= set(" ".join(TEXTS).split())
    assert model.predict(["wheat ship", "the interest of a bank", "crude"]).tolist() == ["grain", "money", "oil"]
    series = pd.Series(TEXTS)
    kinds = [tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object), series, series.astype("string")]
    for texts in [*kinds, series.to_frame("text")]:
        assert_same_text_model(texts, model)


def test_text_of_arrow_gives_the_same_model() -> None:
    pa = pytest.importorskip("pyarrow")
    model = BoosTexterClassifier(n_estimators=6).fit(TEXTS, TOPICS)
    for texts in (pa.array(TEXTS), pa.table({"text": TEXTS}), pa.chunked_array([TEXTS[:3], TEXTS[3:]])):
        assert_same_text_model(texts, model)


def test_text_of_polars_gives_the_same_model() -> None:
    pl = pytest.importorskip("polars")
    model = BoosTexterClassifier(n_estimators=6).fit(TEXTS, TOPICS)
    for texts in (pl.Series(TEXTS), pl.DataFrame({"text": TEXTS})):
        assert_same_text_model(texts, model)


def assert_same_text_model(texts: Any, model: BoosTexterClassifier) -> None:
    other = BoosTexterClassifier(n_estimators=6).fit(texts, TOPICS)
    np.testing.assert_array_equal(other.words_, model.words_)
    np.testing.assert_array_equal(other.decision_function(texts), model.decision_function(TEXTS))


def test_text_is_the_table_that_the_vectoriser_makes_of_it() -> None:
    vectorizer = CountVectorizer(binary=True, ngram_range=(1, 2)).fit(TEXTS)
    table = vectorizer.transform(TEXTS)
    by_text = BoosTexterClassifier(n_estimators=5, ngram_range=(1, 2)).fit(TEXTS, TOPICS)
    for X in (table, csr_array(table), table.toarray(), pd.DataFrame(table.toarray())):
        by_table = BoosTexterClassifier(n_estimators=5).fit(X, TOPICS)
        np.testing.assert_array_equal(by_table.decision_function(X), by_text.decision_function(TEXTS))
        np.testing.assert_array_equal(vectorizer.get_feature_names_out()[by_table.words_], by_text.words_)
    assert "interest rate" in by_text.vectorizer_.get_feature_names_out()
    frame = pd.DataFrame(table.toarray(), columns=vectorizer.get_feature_names_out())
    np.testing.assert_array_equal(BoosTexterClassifier(n_estimators=5).fit(frame, TOPICS).words_, by_text.words_)


def test_any_vectoriser_will_do() -> None:
    plain = BoosTexterClassifier(n_estimators=5).fit(TEXTS, TOPICS)
    weighted = BoosTexterClassifier(n_estimators=5, vectorizer=TfidfVectorizer()).fit(TEXTS, TOPICS)
    np.testing.assert_array_equal(plain.words_, weighted.words_)
    # Hashed words have signs; a word is present whatever its sign.
    hashed = BoosTexterClassifier(n_estimators=5, vectorizer=HashingVectorizer(n_features=2**16)).fit(TEXTS, TOPICS)
    np.testing.assert_allclose(hashed.normalizers_, plain.normalizers_)
    assert hashed.words_.dtype.kind == "i"
    np.testing.assert_array_equal(hashed.predict(TEXTS), plain.predict(TEXTS))
    counted = [dict.fromkeys(text.split(), 1) for text in TEXTS]
    dicts = BoosTexterClassifier(n_estimators=5, vectorizer=DictVectorizer()).fit(counted, TOPICS)
    assert dicts.predict(counted).tolist() == TOPICS


def test_values_above_the_threshold_are_present() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 6)), rng.integers(0, 3, size=80)
    above = BoosTexterClassifier(n_estimators=5, binarize=0.5).fit(X, y)
    np.testing.assert_array_equal(
        above.decision_function(X), BoosTexterClassifier(n_estimators=5).fit(X > 0.5, y).decision_function(X > 0.5)
    )
    signs = csr_matrix(np.where(rng.random((80, 6)) < 0.5, X, 0.0))
    nonzero = BoosTexterClassifier(n_estimators=5, binarize=None).fit(signs, y)
    same = BoosTexterClassifier(n_estimators=5).fit(abs(signs), y)
    np.testing.assert_array_equal(nonzero.decision_function(signs), same.decision_function(abs(signs)))


def test_what_cannot_be_read_is_refused_with_a_sentence() -> None:
    with pytest.raises(ValueError, match="Document 2 is missing"):
        BoosTexterClassifier().fit(["a", "b", None], [0, 1, 1])
    with pytest.raises(TypeError, match="document 1 is 3"):
        BoosTexterClassifier().fit(["a", 3], [0, 1])
    with pytest.raises(ValueError, match="y of two axes must hold zeros and ones"):
        BoosTexterClassifier().fit(TEXTS, [[0, 2]] * 8)
    with pytest.raises(ValueError, match="is for its own vectoriser"):
        BoosTexterClassifier(vectorizer=CountVectorizer(), ngram_range=(1, 2)).fit(TEXTS, TOPICS)
    with pytest.raises(ValueError, match="must be >= 0 for a sparse X"):
        BoosTexterClassifier(binarize=-1.0).fit(csr_matrix(np.eye(3)), [0, 1, 1])
    text_model, table_model = (BoosTexterClassifier(n_estimators=2).fit(X, TOPICS) for X in (TEXTS, np.eye(8)))
    with pytest.raises(TypeError, match="fitted on text"):
        text_model.predict(np.eye(8))
    with pytest.raises(TypeError, match="fitted on a table of words and cannot read text"):
        table_model.predict(TEXTS)
    for bad, value in {"algorithm": "unreal", "smoothing": 0.0, "vectorizer": 3, "n_iter_no_change": 0}.items():
        with pytest.raises((ValueError, TypeError), match=f"'{bad}' parameter of BoosTexterClassifier must be"):
            BoosTexterClassifier(**{bad: value}).fit(TEXTS, TOPICS)


# --- going on and stopping -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_text", [False, True])
def test_a_warm_start_goes_on_where_it_stopped(as_text: bool) -> None:
    X, has = draw_words(5)
    X = [" ".join(f"w{j:02}" for j in np.flatnonzero(row)) for row in X] if as_text else X
    model = BoosTexterClassifier(n_estimators=6, warm_start=True).fit(X, has)
    model.set_params(n_estimators=14).fit(X, has)
    whole = BoosTexterClassifier(n_estimators=14).fit(X, has)
    np.testing.assert_array_equal(model.words_, whole.words_)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(model.normalizers_, whole.normalizers_, rtol=1e-9)
    with pytest.warns(UserWarning, match="does not add rounds"):
        model.fit(X, has)
    with pytest.raises(ValueError, match="at least the 14 rounds"):
        model.set_params(n_estimators=3).fit(X, has)
    with pytest.raises(ValueError, match="other words or labels"):
        model.set_params(n_estimators=20).fit(X, has[:, :2])


def test_it_stops_when_the_error_on_a_part_kept_apart_no_longer_falls() -> None:
    rng = np.random.default_rng(6)
    X = (rng.random((300, 40)) < 0.3).astype(float)
    y = np.where(rng.random(300) < 0.2, rng.integers(0, 2, 300), X[:, 0]).astype(int)
    model = BoosTexterClassifier(n_iter_no_change=15, random_state=0).fit(X, y)
    errors, n_rounds = model.validation_errors_, len(model.words_)
    assert n_rounds == errors.argmin() + 1
    assert len(errors) == n_rounds + 15
    again = BoosTexterClassifier(n_iter_no_change=15, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(model.votes_, again.votes_)
    np.testing.assert_array_equal(
        list(model.staged_decision_function(X))[-1], list(again.staged_decision_function(X))[-1]
    )
    assert not hasattr(model.set_params(n_iter_no_change=None).fit(X, y), "validation_errors_")


def test_it_stops_when_no_word_separates_the_labels() -> None:
    y = np.array([0, 1] * 10)
    X = np.ones((20, 3))
    model = BoosTexterClassifier(n_estimators=50).fit(X, y)
    assert len(model.words_) == 1
    np.testing.assert_allclose(model.predict_proba(X), 0.5)


def test_progress_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    BoosTexterClassifier(n_estimators=3, verbose=1).fit(TEXTS, TOPICS)
    assert "Boosting words" in capfd.readouterr().err


def test_an_interrupt_leaves_the_old_state() -> None:
    rng = np.random.default_rng(7)
    X, has = csr_array(rng.random((300, 60)) < 0.1), rng.integers(0, 2, size=(300, 20))
    model = BoosTexterClassifier(n_estimators=3).fit(X[:50], has[:50])
    before = dict(vars(model))
    n_polls = count_polls(lambda: BoosTexterClassifier(n_estimators=3).fit(X, has))
    assert n_polls >= 3
    for at in (1, n_polls):
        interrupt_at_poll(at, lambda: model.fit(X, has))
        assert vars(model) == before


def test_weights_are_repetition_and_zero_is_absence() -> None:
    X, has = draw_words(8)
    counts = np.random.default_rng(8).integers(0, 4, size=len(X))
    weighted = BoosTexterClassifier(n_estimators=10).fit(X, has, sample_weight=counts)
    rows = np.repeat(np.arange(len(X)), counts)
    repeated = BoosTexterClassifier(n_estimators=10).fit(X[rows], has[rows])
    np.testing.assert_allclose(weighted.votes_, repeated.votes_, rtol=1e-9)
    scaled = BoosTexterClassifier(n_estimators=10).fit(X, has, sample_weight=counts * 0.3)
    np.testing.assert_allclose(weighted.votes_, scaled.votes_, rtol=1e-9)
    texts = [*TEXTS, "a word that no one counts"]
    without = BoosTexterClassifier(n_estimators=5).fit(texts, [*TOPICS, "other"], sample_weight=[1] * 8 + [0])
    assert "counts" not in without.vectorizer_.vocabulary_
    assert without.classes_.tolist() == ["grain", "money", "oil"]


def test_it_works_inside_a_search() -> None:
    assert cross_val_score(BoosTexterClassifier(n_estimators=5), TEXTS * 3, TOPICS * 3, cv=3).mean() > 0.9


# --- Reuters -------------------------------------------------------------------------------------------------------


def read_reuters(name: str) -> pd.DataFrame:
    folder = os.environ.get("COMMITTEE_DATA")
    if not folder:
        pytest.skip("COMMITTEE_DATA names no folder with data sets")
    path = Path(folder) / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path.name} is not in COMMITTEE_DATA")
    data = pd.read_parquet(path)
    return data.assign(document=data["title"].fillna("") + "\n" + data["text"].fillna(""))


def test_reuters_classes_beat_naive_bayes() -> None:
    data = read_reuters("reuters_r52")
    train, test = data[data["split"] == "train"][::4], data[data["split"] == "test"][::4]
    model = BoosTexterClassifier(n_estimators=150).fit(train["document"], train["target"].astype(str))
    words = CountVectorizer().fit(train["document"])
    bayes = MultinomialNB().fit(words.transform(train["document"]), train["target"].astype(str))
    ours = model.score(test["document"], test["target"].astype(str))
    assert ours > bayes.score(words.transform(test["document"]), test["target"].astype(str)) + 0.02
    assert ours > 0.85


def test_reuters_labels_are_ranked_well() -> None:
    data = read_reuters("reuters_r90_multilabel")
    labels = MultiLabelBinarizer().fit_transform(data["target"].str.split("|"))
    is_train, is_test = ((data["split"] == part).to_numpy() for part in ("train", "test"))
    train, test = np.flatnonzero(is_train)[::4], np.flatnonzero(is_test)[::4]
    documents = data["document"].to_numpy()
    model = BoosTexterClassifier(n_estimators=100).fit(documents[train], labels[train])
    scores = model.decision_function(documents[test])
    assert label_ranking_average_precision_score(labels[test], scores) > 0.8
    assert coverage_error(labels[test], scores) < 8
    assert labels[test][np.arange(len(test)), model.rank_labels(documents[test])[:, 0]].mean() > 0.8
    assert hamming_loss(labels[train], model.predict(documents[train])) <= model.training_error_bound()[-1]


@pytest.mark.parametrize("algorithm", ["real", "abstaining", "discrete"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_are_exact_sums(algorithm: str, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X, y = (rng.random((80, 12)) < 0.4).astype(float), rng.integers(n_classes, size=80)
    for seed in range(3):
        weights = np.random.default_rng(seed).integers(1, 4, size=80)
        model = BoosTexterClassifier(algorithm=algorithm, n_estimators=25).fit(X, y, sample_weight=weights)
        *_, last = model.staged_decision_function(X)
        np.testing.assert_array_equal(last, model.decision_function(X))
        alone = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(len(X))])
        np.testing.assert_array_equal(alone, model.decision_function(X))
        warm = BoosTexterClassifier(algorithm=algorithm, n_estimators=9, warm_start=True)
        warm.fit(X, y, sample_weight=weights).set_params(n_estimators=25).fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(warm.decision_function(X), model.decision_function(X))
        copies = np.repeat(np.arange(80), weights)
        repeated = BoosTexterClassifier(algorithm=algorithm, n_estimators=25).fit(X[copies], y[copies])
        np.testing.assert_array_equal(repeated.predict(X), model.predict(X))


def test_documents_without_words_are_refused_with_a_sentence():
    with pytest.raises(DataError, match=r"empty vocabulary.*at least two letters or digits"):
        BoosTexterClassifier(n_estimators=2).fit(["a b", "b c", "a c", "b"], [0, 1, 0, 1])


def test_a_lazy_frame_is_read_without_a_warning():
    frame = pytest.importorskip("polars").DataFrame({"first": [0, 1, 0, 1, 1, 0], "second": [1, 1, 0, 0, 1, 0]})
    y = [0, 1, 0, 1, 1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazy = BoosTexterClassifier(n_estimators=2).fit(frame.lazy(), y)
        predicted = lazy.predict(frame.lazy())
    np.testing.assert_array_equal(predicted, BoosTexterClassifier(n_estimators=2).fit(frame, y).predict(frame))
