"""The lab: a local page on which one sees ensembles learn, round by round.

`committee lab` serves it. Below the server, everything is a function of a `LabState`: `draw_sample_set` makes the
points, `fit_rounds` the model with its predictions after every round, and `answer_state` all that the page shows.
"""

from committee.lab.answers import answer_film, answer_state
from committee.lab.recording import record_scene
from committee.lab.server import LabServer
from committee.lab.state import LabState, read_link, write_link

__all__ = ["LabServer", "LabState", "answer_film", "answer_state", "read_link", "record_scene", "write_link"]
