"""AdaBoost.MH on the presence of words, as it is in the paper [SchapireSinger2000]."""

import numpy as np


def weigh_sides(present, Y, D):
    """W[side, sign, label]: weight of the pairs with the word absent or present and the label wrong or right."""
    sides = (~present, present)
    return np.array([[(D * (sign == Y))[side].sum(axis=0) for sign in (-1, 1)] for side in sides])


def judge_word(present, Y, D, kind, smoothing):
    """What a stump on the word votes, of shape (2, n_labels), and the normaliser it is chosen by."""
    W = weigh_sides(present, Y, D)
    negative, positive = W[:, 0], W[:, 1]
    if kind == "discrete":
        r = np.abs(positive - negative).sum()
        alpha = 0.5 * np.log((1 + r + smoothing) / (1 - r + smoothing))
        return alpha * np.sign(positive - negative), np.sqrt(max(0.0, 1 - r**2))
    votes = 0.5 * np.log((positive + smoothing) / (negative + smoothing))
    roots = 2 * np.sqrt(positive * negative).sum(axis=1)
    if kind == "abstaining":
        votes[0] = 0.0
        return votes, W[0].sum() + roots[1]
    return votes, roots.sum()


def boost_words(X, Y, kind="real", n_rounds=10, weights=None, smoothing=None):
    """Words, votes and normalisers of each round; X holds ones where a word is present, Y is in {-1, +1}."""
    X, (n, k) = np.asarray(X) > 0, Y.shape
    smoothing = 1 / (n * k) if smoothing is None else smoothing
    D = np.repeat((np.ones(n) if weights is None else weights)[:, None], k, axis=1)
    D = D / D.sum()
    words, votes, normalizers = [], [], []
    for _ in range(n_rounds):
        judged = [judge_word(X[:, w], Y, D, kind, smoothing) for w in range(X.shape[1])]
        scores = np.array([score if X[:, w].any() else np.inf for w, (_, score) in enumerate(judged)])
        word = int(np.flatnonzero(scores <= scores.min() + 1e-12)[0])
        h = judged[word][0][X[:, word].astype(int)]
        D = D * np.exp(-Y * h)
        words.append(word)
        votes.append(judged[word][0])
        normalizers.append(D.sum())
        D = D / D.sum()
    return np.array(words), np.array(votes), np.array(normalizers)
