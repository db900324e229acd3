"""States of the lab and their links."""

import pytest

from committee.exceptions import ParameterError
from committee.lab.state import LIMITS, LabState, describe_choices, read_fields, read_link, write_link


def test_a_link_has_the_whole_state() -> None:
    states = [
        LabState(),
        LabState("iris", noise=0.125, seed=7, method="boosting", depth=3, rate=0.05, rounds=120, round=17),
        LabState("points", points="0.1,0.2,0_1,1,1", box="0,1,0,1", method="forest", subsample=0.35),
        LabState("sine", algorithm="r2", method="bagging"),
    ]
    for state in states:
        assert read_link(write_link(state)) == state
        assert read_link("#" + write_link(state)) == state
    assert read_link("") == LabState()
    assert read_link("data=steps").algorithm == "r2"


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("colour=red", "The lab has no 'colour'; its states have data, n, noise"),
        ("data=mnist", "The lab's 'data' must be one of moons, circles, .*; got 'mnist'"),
        ("data=mnist&algorithm=samme", "The lab's 'data' must be one of"),
        ("method=svm", "'method' must be one of bagging, forest.*; got 'svm'"),
        ("data=sine&algorithm=samme", "'algorithm' must be one of r2, rt; got 'samme'"),
        ("rounds=1000", "'rounds' must be between 1 and 300; got 1000"),
        ("rounds=2.5", "'rounds' must be a whole number; got '2.5'"),
        ("noise=nan", "'noise' must be a number; got 'nan'"),
        ("depth=deep", "'depth' must be a whole number; got 'deep'"),
        ("points=1,1,1", "'points' go with data='points'"),
        ("data=points", "'points' go with data='points'"),
    ],
)
def test_a_wrong_link_is_answered_with_a_sentence(link: str, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        read_link(link)


def test_the_page_is_offered_what_a_state_accepts() -> None:
    choices = describe_choices()
    assert set(choices) == {"sets", "methods", "algorithms", "limits", "start", "most_points", "most_classes"}
    start = choices["start"]
    assert isinstance(start, dict)
    assert read_fields(start) == LabState()
    for name, (least, most, step) in LIMITS.items():
        for value in (least, most):
            assert getattr(read_fields({name: value}), name) == value
        assert step > 0
