"""Columns of text: recognised, encoded as words and topics, and not confused with categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.data.text_columns import find_texts, lift_texts
from committee.data.word_encoding import fit_word_encoding
from committee.exceptions import CommitteeError, DataError, ParameterError

WORDS = {"linear of words", "naive bayes of words"}


def make_mail(n_rows: int = 240) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    spam = rng.random(n_rows) < 0.4
    usual = ["see", "you", "at", "home", "for", "lunch", "later", "today"]
    loud = ["free", "prize", "win", "cash", "call", "now", "claim"]
    texts = [" ".join(rng.choice(loud if s and rng.random() < 0.9 else usual, size=9)) for s in spam]
    table = pd.DataFrame(
        {"hour": rng.normal(size=n_rows), "message": texts, "sender": rng.choice(["a b c", "d e f"], size=n_rows)}
    )
    table.loc[3, "message"] = None
    return table, spam


def test_texts_are_recognised() -> None:
    table, _ = make_mail()
    assert find_texts(table, "auto") == [1]
    assert find_texts(table, "auto", ["message"]) == []
    assert find_texts(table, None) == []
    assert find_texts(table, ["message", 2]) == [1, 2]
    assert find_texts(table.to_numpy(), "auto") == [1]
    assert find_texts(table.to_numpy().tolist(), "auto") == [1]
    assert find_texts(table.astype({"message": "category"}), "auto") == []
    assert find_texts(np.zeros((4, 2)), "auto") == []
    assert find_texts([[0.0, 1.0]], "auto") == []
    # Many names of one word are levels.
    assert find_texts(pd.DataFrame({"id": [f"id{k}" for k in range(50)]}), "auto") == []
    for wrong in (["nobody"], [7], [True]):
        with pytest.raises(ParameterError, match="There is no column"):
            find_texts(table, wrong)
    with pytest.raises(ParameterError, match="'hour', a column without text"):
        find_texts(table, ["hour"])


@pytest.mark.parametrize("kind", ["pandas", "index", "polars", "pyarrow", "array", "lists"])
def test_texts_are_lifted_out_of_any_table(kind: str) -> None:
    table, _ = make_mail(12)
    plain = {c: [None if value != value else value for value in table[c]] for c in table}
    given: Any = table
    if kind == "index":
        given = table.set_index(np.arange(12) * 7)
    elif kind == "polars":
        given = pytest.importorskip("polars").DataFrame(plain)
    elif kind == "pyarrow":
        given = pytest.importorskip("pyarrow").table(plain)
    elif kind in ("array", "lists"):
        given = table.to_numpy() if kind == "array" else table.to_numpy().tolist()
    rest, (texts,) = lift_texts(given, [1])
    assert texts == ["" if not isinstance(t, str) else t for t in table["message"]]
    lengths = rest[:, 1] if kind in ("array", "lists") else np.asarray(rest["message"])
    expected = [len(t) if isinstance(t, str) else np.nan for t in table["message"]]
    np.testing.assert_array_equal(np.asarray(lengths, dtype=float), expected)
    assert isinstance(table["message"][0], str)


def test_words_are_weighed_as_scikit_learn_does() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    table, _ = make_mail()
    texts = table["message"].fillna("").tolist()
    words = fit_word_encoding(texts)
    theirs = TfidfVectorizer(min_df=2, ngram_range=(1, 2), sublinear_tf=True, strip_accents="unicode")
    np.testing.assert_allclose(words.to_tfidf(texts).toarray(), theirs.fit_transform(texts).toarray(), atol=1e-12)
    topics = words.to_topics(words.to_tfidf(texts))
    assert topics.shape == (240, 30)
    for few in (["a b", "c d"], ["", ""], ["one word", "another one"]):
        found = fit_word_encoding(few)
        assert found.to_topics(found.to_tfidf(few)).shape == (2, len(found.terms))


@pytest.mark.parametrize("only_text", [False, True])
def test_a_committee_reads_messages(only_text: bool, tmp_path: Path) -> None:
    table, spam = make_mail()
    X = table[["message"]] if only_text else table
    model = CommitteeClassifier(random_state=0).fit(X[:160], spam[:160])
    board = {row["name"]: row for row in model.leaderboard_}
    assert set(board) > WORDS
    assert board["linear of words"]["score"] > 0.7 * board["prior"]["score"]
    # Themes are there for members that cannot read.
    assert board["boosting"]["score"] > 0.8 * board["prior"]["score"]
    assert model.score(X[160:], spam[160:]) > 0.9
    assert model.n_features_in_ == X.shape[1]
    assert list(model.feature_names_in_) == list(X)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    as_levels = CommitteeClassifier(text_columns=None, random_state=0, n_members=3).fit(X[:160], spam[:160])
    assert not WORDS & {row["name"] for row in as_levels.leaderboard_}
    assert as_levels.score_estimate_ < model.score_estimate_


def test_values_are_predicted_from_words() -> None:
    table, spam = make_mail()
    y = np.where(spam, 1.0, -1.0) + table["hour"].to_numpy()
    model = CommitteeRegressor(portfolio=["linear", "linear of words"], random_state=0).fit(table, y)
    assert model.score_estimate_ > -0.6 * y.std()
    weights = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = CommitteeRegressor(portfolio=["linear of words"], random_state=0).fit(table, y, sample_weight=weights)
    assert np.isfinite(weighted.predict(table)).all()


def test_threads_and_rows_without_words_change_nothing() -> None:
    table, spam = make_mail(120)
    one, two = (CommitteeClassifier(n_jobs=jobs, random_state=0).fit(table, spam) for jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(table), two.predict_proba(table))
    unknown = table.assign(message="zzz yyy xxx")
    np.testing.assert_allclose(one.predict_proba(unknown).sum(axis=1), 1.0)
    assert np.isfinite(one.predict_proba(table.assign(message=None))).all()


def test_pure_noise_in_words_is_at_chance() -> None:
    rng = np.random.default_rng(0)
    letters = [f"word{k}" for k in range(300)]
    X = [[" ".join(rng.choice(letters, size=12))] for _ in range(200)]
    y = rng.integers(0, 2, size=200)
    scores = [CommitteeClassifier(random_state=s, portfolio=sorted(WORDS)).fit(X, y).score_estimate_ for s in range(2)]
    assert -np.log(2) - 0.1 < np.mean(scores) < -np.log(2) + 0.02


def test_invalid_arguments_are_refused() -> None:
    table, spam = make_mail(60)
    with pytest.raises(ParameterError, match="'linear of words', which needs columns of text"):
        CommitteeClassifier(portfolio=["linear of words"], text_columns=None).fit(table, spam)
    with pytest.raises(ParameterError, match="'naive bayes of words', which needs columns of text and which needs cl"):
        CommitteeRegressor(portfolio=["naive bayes of words"]).fit(table, spam.astype(float))
    with pytest.raises(ParameterError, match="There is no column 'body'"):
        CommitteeClassifier(text_columns=["body"]).fit(table, spam)
    model = CommitteeClassifier(random_state=0, n_members=1).fit(table, spam)
    with pytest.raises(DataError, match="feature names should match"):
        model.predict(table.drop(columns="message"))
    with pytest.warns(UserWarning, match="feature names"), pytest.raises(CommitteeError):
        model.predict(np.zeros((2, 2)))


@pytest.mark.parametrize("by_class", [False, True])
def test_rows_of_weight_zero_have_no_words(by_class: bool) -> None:
    table, spam = make_mail(120)
    y = np.where(spam, "spam", "ham").astype(object)
    left_out = np.arange(120) % 4 == 0
    table.loc[left_out, "message"] = [f"unheard {k} words of odd letters" for k in range(left_out.sum())]
    params: dict[str, Any] = {"portfolio": ["linear of words", "extra trees"], "random_state": 0}
    weights: dict[str, Any] = {}
    if by_class:
        y[left_out] = "neither"
        params["class_weight"] = {"neither": 0.0}
    else:
        weights["sample_weight"] = np.where(left_out, 0.0, 1.0)
    weighted = CommitteeClassifier(**params).fit(table, y, **weights)
    alone = CommitteeClassifier(**params | {"class_weight": None}).fit(table[~left_out], y[~left_out])
    assert weighted._texts == alone._texts
    assert "unheard" not in weighted._texts.words[0].terms.tolist()
