"""Bagging, its out-of-bag error, and the bootstrap's bias and variance, as they are on the blackboard."""

import numpy as np


def average_members(members, features, X):
    """The mean of what the members say about their features of X."""
    total = 0.0
    for member, own in zip(members, features, strict=True):
        answer = member.predict_proba(X[:, own]) if hasattr(member, "predict_proba") else member.predict(X[:, own])
        total = total + answer
    return total / len(members)


def vote_out_of_bag(members, samples, features, X):
    """For each row the mean of the members whose sample does not hold it, NaN where there is none."""
    rows = []
    held = [set(sample.tolist()) for sample in samples]
    for i in range(len(X)):
        answers = []
        for member, sample, own in zip(members, held, features, strict=True):
            if i not in sample:
                row = X[i : i + 1, own]
                answers.append(
                    member.predict_proba(row)[0] if hasattr(member, "predict_proba") else member.predict(row)[0]
                )
        rows.append(np.mean(answers, axis=0) if answers else np.nan)
    return np.array(rows)


def decompose_error(answers, y):
    """Mean, bias and variance of each row from a list of its predictions (one list for each row)."""
    means = np.array([np.mean(own) for own in answers])
    variances = np.array(
        [sum((m - a) ** 2 for a in own) / (len(own) - 1) for m, own in zip(means, answers, strict=True)]
    )
    return means, y - means, variances


def estimate_632_plus(apparent, leave_one_out, gamma):
    """Equations 24 to 32 of Efron and Tibshirani (1997), in their words."""
    bounded = min(leave_one_out, gamma)
    rate = (bounded - apparent) / (gamma - apparent) if leave_one_out > apparent and gamma > apparent else 0.0
    err632 = 0.368 * apparent + 0.632 * leave_one_out
    return err632 + (bounded - apparent) * (0.368 * 0.632 * rate) / (1 - 0.368 * rate)
