"""Checking a certificate: the data are compared by their digests, and the model is fitted again."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from committee.exceptions import ModelFileError
from committee.io.certificates.certificate import (
    GivenData,
    describe_parameters,
    fit_seeded,
    open_data,
    read_versions,
)
from committee.io.certificates.model_digest import digest_model, list_model_differences

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.base import CommitteeEstimator

__all__ = ["Verification", "compare_data", "read_certificate", "verify", "verify_data"]

_MOST_LISTED = 5
#: Seconds that no fit reaches: the order of the members is that of a fit with a budget.
_NO_LIMIT = 1e9


@dataclass(frozen=True)
class Verification:
    """What a verification found.

    Attributes
    ----------
    identical : bool
        Whether the data are those of the certificate and a new fit gave the same model.
    refitted : bool
        Whether the model was fitted again; not if the data, the parameters or the model differ already.
    data, parameters, model : list of str
        What differs, in sentences. Empty if `identical`.
    versions, platform : list of str
        What is different here from where the model was fitted. It explains a difference, but need not make one.
    """

    identical: bool
    refitted: bool
    data: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    model: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    platform: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.identical

    def __str__(self) -> str:
        if self.identical:
            first = "identical: the table, the target and a new fit are those of the certificate."
        else:
            first = "not identical:"
        found = {"data": self.data, "parameters": self.parameters, "model": self.model}
        found |= {"version": self.versions, "platform": self.platform}
        return "\n".join([first, *(f"  {kind}: {text}" for kind, texts in found.items() for text in texts)])


def read_certificate(model: CommitteeEstimator) -> dict[str, Any]:
    """The certificate of a model; an error if it has none, or one of a later version."""
    found = vars(model).get("certificate_") if hasattr(model, "__dict__") else None
    if found is None:
        raise ModelFileError(
            f"This {type(model).__name__} has no certificate. committee.certify and committee fit make one."
        )
    if not _is_certificate(found):
        raise ModelFileError("The certificate of the model cannot be read; a later version may have written it.")
    return dict(found)


def _is_certificate(found: object) -> bool:
    """Whether all that is compared is there, and of its type: a certificate may come from anywhere."""
    if not isinstance(found, dict) or found.get("version") != 1 or not isinstance(found.get("table"), dict):
        return False
    if not all(isinstance(found.get(name), dict) for name in ("arguments", "parameters", "versions", "platform")):
        return False
    table, seed = found["table"], found.get("seed", -1)
    texts = (table.get("sha256"), found.get("model"), found.get("predictor"))
    lists = (table.get("column_digests"), table.get("names"))
    counts = (table.get("rows"), table.get("columns"), 0 if seed is None else seed)
    sizes = {table.get("columns"), *(len(one) for one in lists if isinstance(one, list))}
    return (
        all(isinstance(text, str) for text in texts)
        and all(one is None or (isinstance(one, list) and all(isinstance(x, str) for x in one)) for one in lists)
        and all(type(count) is int and 0 <= count < 2**63 for count in counts)
        and (seed or 0) < 2**32
        and len(sizes) == 1
        and all(isinstance(found.get(name, 0), str | None) for name in ("target", "weights"))
    )


def verify(
    model: CommitteeEstimator, X: Any, y: Any = None, sample_weight: ArrayLike | str | None = None, **fit_params: object
) -> Verification:
    """Check that a model is what its certificate says, by fitting it again.

    Parameters
    ----------
    model : estimator
        With a certificate: from `committee.certify`, or loaded from a file that has one.
    X, y, sample_weight
        The training data, in any container. Rows of weight zero may be there or not.
    **fit_params
        Further arguments that ``fit`` had.

    Returns
    -------
    Verification
        True if all is identical; printed, it says what differs.

    Examples
    --------
    >>> import committee, numpy as np
    >>> X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    >>> model = committee.certify(committee.DecisionTreeRegressor(max_depth=2), X, y)
    >>> bool(committee.verify(model, X.tolist(), y))
    True
    >>> X[3, 1] += 1
    >>> print(committee.verify(model, X, y))
    not identical:
      data: column 1 differs.
    """
    with open_data(X, y, sample_weight, fit_params) as given:
        return verify_data(model, given)


def verify_data(model: CommitteeEstimator, given: GivenData) -> Verification:
    """`verify`, on data that have been opened."""
    certificate = read_certificate(model)
    data = compare_data(certificate, given.describe())
    parameters = _compare_entries(certificate["parameters"], describe_parameters(model), "parameter")
    strip = "_stripped" in vars(model)
    expected = certificate["predictor" if strip else "model"]
    changed = digest_model(model, strip=strip) != expected
    own = ["The model has been changed since it was fitted: it has another digest than the certificate."] * changed
    versions = _compare_entries(certificate["versions"], read_versions(), "")
    here = {"system": platform.system(), "machine": platform.machine()}
    platforms = _compare_entries(certificate["platform"], here, "")
    if data or parameters or own:
        return Verification(False, False, data, parameters, own, versions, platforms)
    again = fit_seeded(_prepare(model), given, certificate["seed"]).set_params(**model.get_params(deep=False))
    for fitted, output in zip(getattr(again, "_outputs", ()), getattr(model, "_outputs", ()), strict=True):
        fitted.set_params(**output.get_params(deep=False))
    if digest_model(again, strip=strip) != expected:
        own = [_describe_difference(list_model_differences(model, again, strip=strip), model)]
    return Verification(not own, True, [], [], own, versions, platforms)


def _prepare(model: CommitteeEstimator) -> Any:
    """A copy to be fitted. The automatic committee gets the members that its time budget sufficed for."""
    again = clone(model)
    if getattr(model, "time_budget", None) is not None:
        fitted = max(len(one.leaderboard_) for one in getattr(model, "_outputs", [model]))
        again.set_params(time_budget=_NO_LIMIT, n_members=max(1, fitted - 1))
    return again


def _describe_difference(names: list[str], model: CommitteeEstimator) -> str:
    text = f"A new fit differs in {', '.join(names[:_MOST_LISTED])}{', …' if len(names) > _MOST_LISTED else ''}."
    if getattr(model, "time_budget", None) is not None:
        text += " The fit had a time budget, so that it depends on the speed of the machine."
    return text


def compare_data(certificate: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """What differs between the data of a certificate and others, in sentences.

    Parameters
    ----------
    certificate : dict
        Of a model.
    given : dict
        What `GivenData.describe` found.

    Returns
    -------
    list of str
    """
    found = _compare_tables(certificate["table"], given["table"])
    for name, text in (("target", "The target"), ("weights", "The weights")):
        if certificate[name] != given[name]:
            gone = " (there were none)" if certificate[name] is None else " (there are none)" * (given[name] is None)
            found.append(f"{text} differ{'s' if name == 'target' else ''}{gone}.")
    for name in sorted({*certificate["arguments"], *given["arguments"]}):
        if certificate["arguments"].get(name) != given["arguments"].get(name):
            found.append(f"The argument '{name}' of the fit differs.")
    return found


def _compare_tables(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    found = [
        f"the table had {then[name]} {name} and has {now[name]}."
        for name in ("rows", "columns")
        if then[name] != now[name]
    ]
    if found:
        return found
    names = now["names"] or then["names"]
    if then["names"] and now["names"] and then["names"] != now["names"]:
        pairs = [(a, b) for a, b in zip(then["names"], now["names"], strict=True) if a != b]
        found += [f"column '{a}' is named '{b}' now." for a, b in pairs[:_MOST_LISTED]]
    if then["sha256"] == now["sha256"]:
        return found
    if not then["column_digests"] or not now["column_digests"]:
        return [*found, "the values of the table differ."]
    digests = zip(then["column_digests"], now["column_digests"], strict=True)
    places = [place for place, (a, b) in enumerate(digests) if a != b]
    found += [f"column {repr(names[place]) if names else place} differs." for place in places[:_MOST_LISTED]]
    if len(places) > _MOST_LISTED:
        found.append(f"{len(places) - _MOST_LISTED} more columns differ.")
    return found


def _compare_entries(then: dict[str, Any], now: dict[str, Any], kind: str) -> list[str]:
    names = sorted({*then, *now})
    pairs = [(name, then.get(name), now.get(name)) for name in names]
    # Parameters may be NaN, which is not equal to itself.
    return [
        f"{kind} {name} was {a!r} and is {b!r} here.".lstrip() for name, a, b in pairs if a != b and repr(a) != repr(b)
    ]
