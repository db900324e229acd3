"""The lab in a browser: play, draw, sliders, links, tables; skipped where no Chromium is installed."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from committee.lab import LabServer, read_link
from tests.lab.lab_page import LabPage

ADABOOST = "data=moons&n=80&rounds=30&round=1"


def test_a_state_is_shown(show: Callable[..., LabPage]) -> None:
    page = show("data=iris&method=forest&depth=4&rounds=12&round=5")
    page.wait_for_films()
    assert page.run("document.getElementById('round-text').textContent") == "5 of 12"
    assert page.run("[data.value, method.value, depth.value, rounds.value]") == ["iris", "forest", "4", "12"]
    assert page.run("[...document.querySelectorAll('#classes li')].map(e => e.textContent)") == [
        "setosa",
        "versicolor",
        "virginica",
    ]
    legend = page.run("[...document.querySelectorAll('#errors li')].map(e => e.textContent)")
    assert [text.split()[0] for text in legend] == ["training", "test", "out-of-bag"]
    assert page.read_pixels()[1] > 20
    page.check_quiet()


def test_playing_goes_through_all_rounds(show: Callable[..., LabPage]) -> None:
    """Sixty rounds are played at full speed, and each frame that is drawn is looked at."""
    page = show("data=moons&n=120&rounds=60&round=1")
    page.wait_for_films()
    page.run(
        "(() => {window.seen = []; const draw = Lab.Plot.prototype.draw;"
        "Lab.Plot.prototype.draw = function (answer, number, frame) {draw.call(this, answer, number, frame);"
        "const d = this.context.getImageData(0, 0, this.canvas.width, this.canvas.height).data;"
        "let sum = 0; for (let k = 0; k < d.length; k += 89) sum = (sum * 31 + d[k]) | 0;"
        "window.seen.push([number, sum, frame === Lab.page.frames.get(number)]);};})()"
    )
    page.choose("speed", "60")
    page.click("#play")
    page.wait("Lab.page.round === 60 && !Lab.page.isPlaying && seen.some(one => one[0] === 60)")
    seen = page.run("seen")
    numbers = [number for number, _, _ in seen]
    assert numbers == sorted(numbers)
    assert set(numbers) >= set(range(2, 61))
    assert all(has_frame for _, _, has_frame in seen)
    # Weights change in every round, so that no picture is that of the round before.
    pictures = {number: digest for number, digest, _ in seen}
    assert all(pictures[number] != pictures[number - 1] for number in range(3, 61))
    page.check_quiet()


def test_rounds_by_buttons_keys_slider_and_curve(show: Callable[..., LabPage]) -> None:
    page = show(ADABOOST)
    for selector, number in {"#next": 2, "#last": 30, "#back": 29, "#first": 1}.items():
        page.click(selector)
        page.wait(f"Lab.page.round === {number}")
    page.run("document.activeElement.blur()")
    for key, number in {"ArrowRight": 2, "End": 30, "ArrowLeft": 29, "Home": 1}.items():
        page.press(key)
        page.wait(f"Lab.page.round === {number}")
    page.press(" ")
    page.wait("Lab.page.isPlaying && document.getElementById('play').getAttribute('aria-label') === 'Pause'")
    page.press(" ")
    page.wait("!Lab.page.isPlaying")
    page.set_slider("round", 17)
    page.wait("Lab.page.round === 17 && location.hash.includes('round=17')")
    page.click("#errors canvas")
    page.wait("Lab.page.round > 12 && Lab.page.round < 20 && Lab.page.round !== 17")
    page.check_quiet()


def test_sliders_fit_again(show: Callable[..., LabPage]) -> None:
    page = show(ADABOOST.replace("round=1", "round=0"))
    before = page.read_pixels()
    page.set_slider("depth", 3)
    page.wait_for_answer("Lab.page.answer.snippet.includes('max_depth=3')")
    assert page.run("document.getElementById('depth-value').textContent") == "3"
    page.set_slider("rounds", 12)
    page.wait_for_answer("Lab.page.answer.rounds === 12")
    page.set_slider("noise", 0.5)
    page.wait_for_answer("Lab.page.answer.snippet.includes('noise=0.5')")
    page.set_slider("flip", 0.2)
    page.wait_for_answer("Lab.page.answer.snippet.includes('< 0.2')")
    for value in range(20, 60, 2):  # faster than the answers come; the last counts
        page.set_slider("n", value * 10)
    page.wait_for_answer("Lab.page.answer.train.x.length === 580")
    page.choose("method", "boosting")
    page.wait_for_answer("Lab.page.answer.snippet.includes('GradientBoostingClassifier')")
    page.set_slider("subsample", 0.5)
    page.wait_for_answer("'log loss, out-of-bag' in Lab.page.answer.losses")
    assert page.read_pixels() != before
    page.check_quiet()


@pytest.mark.parametrize("method", ["bagging", "forest", "extra_trees", "adaboost", "boosting", "voting", "stacking"])
@pytest.mark.parametrize("data", ["circles", "sine"])
def test_every_method_is_shown(show: Callable[..., LabPage], data: str, method: str) -> None:
    page = show(f"data={data}&n=60&method={method}&rounds=4&depth=3")
    assert page.read_message() == ""
    pictures = []
    for number in range(1, page.run("Lab.page.answer.rounds") + 1):
        page.set_slider("round", number)
        page.wait(f"document.getElementById('round-text').textContent.startsWith('{number} of')")
        pictures.append(page.read_pixels())
    assert len(set(pictures)) >= 2
    page.check_quiet()


def test_a_link_and_its_code_make_the_state_again(show: Callable[..., LabPage], server: LabServer) -> None:
    page = show("data=spirals&n=90&method=boosting&depth=3&rate=0.3&rounds=20&round=7")
    page.set_slider("round", 9)
    page.wait("location.hash.includes('round=9')")
    link, shown = page.run("[location.hash, document.getElementById('errors').querySelector('ul').textContent]")
    assert read_link(link).round == 9
    assert page.run("location.href").startswith(server.address + "#")
    code = page.run("document.getElementById('snippet').textContent")
    made: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "<snippet>", "exec"), made)
    assert made["test_error"] == pytest.approx(page.run("Lab.page.answer.errors.test[8]"), abs=1e-6)
    page.wait_for_films()
    picture = page.read_pixels()
    show(link.removeprefix("#"))
    page.wait_for_films()
    page.wait("document.getElementById('round-text').textContent === '9 of 20'")
    assert page.run("document.getElementById('errors').querySelector('ul').textContent") == shown
    assert page.read_pixels() == picture
    page.check_quiet()


def test_points_are_drawn_with_the_mouse(show: Callable[..., LabPage]) -> None:
    page = show("data=moons&n=40&rounds=8")
    page.click("#draw")
    page.wait("location.hash.includes('data=points') && !document.getElementById('tools').hidden")
    assert page.run("Lab.readPoints(Lab.page.state.points).length") == 80  # training and test points of the moons
    page.click("#clear")
    page.wait("Lab.page.answer.rounds === 0")
    assert "Draw points of two classes" in page.read_message()
    page.drag([(0.1 + 0.03 * k, 0.2) for k in range(10)])
    page.wait("Lab.readPoints(Lab.page.state.points).length >= 8")
    page.click("#brushes label:nth-child(2)")
    page.drag([(0.1 + 0.03 * k, 0.8) for k in range(10)])
    page.wait_for_answer("Lab.page.answer.rounds >= 1 && Lab.page.answer.train.x.length >= 16")
    assert page.read_message() == ""
    assert page.run("Lab.page.answer.errors.training.at(-1)") == 0.0
    n = page.run("Lab.page.answer.train.x.length")
    page.click("#brushes .eraser")
    page.drag([(0.1, 0.8), (0.13, 0.8)])
    page.wait_for_answer(f"Lab.page.answer.train.x.length < {n}")
    page.check_quiet()


def test_points_are_drawn_with_the_keyboard(show: Callable[..., LabPage]) -> None:
    page = show("data=sine&n=30&method=boosting&rounds=5")
    page.choose("data", "line_points")
    page.wait_for_answer("location.hash.includes('line_points')")
    page.click("#clear")
    page.wait("Lab.page.answer.rounds === 0")
    page.run("document.getElementById('plot').focus()")
    for key in ["ArrowLeft", " ", "ArrowUp", "ArrowRight", "Enter", "ArrowRight", " ", "ArrowRight", "ArrowDown", " "]:
        page.press(key)
    page.wait_for_answer("Lab.page.answer.train.x.length === 4")
    page.press("Delete")
    page.wait("Lab.page.answer.rounds === 0 && Lab.page.answer.train.x.length === 3")
    page.check_quiet()


def test_a_table_is_loaded(show: Callable[..., LabPage], table: Callable[[str, str], Path]) -> None:
    rows = [f"{k % 10},{k // 10},{(k * 7) % 5},{'high' if k % 10 + k // 10 > 9 else 'low'}" for k in range(100)]
    path = table("plants.csv", "width,height,age,kind\n" + "\n".join(rows))
    page = show("data=moons&n=40&rounds=10&depth=2")
    page.pick_file(path)
    page.wait_for_answer("Lab.page.state.data === 'points' && Lab.page.answer.train.x.length === 70")
    assert page.run("[across.value, up.value, label.value]") == ["width", "height", "kind"]
    assert "100 points of plants.csv" in page.run("document.getElementById('table-note').textContent")
    page.choose("up", "age")
    page.wait_for_answer("Math.max(...Lab.page.answer.train.y) === 4")
    page.choose("label", "-")
    page.wait_for_answer("Lab.page.answer.task === 'regression'")
    page.check_quiet()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,y\n1,2\n3\n", "Row 3 of the table has 1 cells"),
        ("a,b\nred,green\nblue,white\n", "needs two columns of numbers"),
        ("", "The table is empty"),
    ],
)
def test_a_bad_table_is_answered_with_a_sentence(
    show: Callable[..., LabPage], table: Callable[[str, str], Path], text: str, sentence: str
) -> None:
    page = show("data=moons&n=40&rounds=5")
    page.pick_file(table("bad.csv", text))
    assert sentence in page.wait("document.getElementById('message').hidden ? '' : message.textContent")
    assert page.run("[message.getAttribute('role'), Lab.page.state.data]") == ["alert", "moons"]
    # The browser logs the status of the answer by itself; nothing else is logged.
    kinds = [json.loads(text)["entry"]["source"] for text in page.browser.list_complaints()]
    assert kinds == ["network"]


def test_a_wrong_link_is_answered_with_a_sentence(show: Callable[..., LabPage]) -> None:
    page = show("data=iris&algorithm=real&n=40&rounds=5")
    assert "is for two classes" in page.read_message()
    page.choose("algorithm", "samme")
    page.wait_for_answer("message.hidden")
    page.open_state("data=iris&method=forest&rounds=100000")
    assert "'rounds' must be between 1 and 300" in page.read_message()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 820, 1400])
def test_three_widths_light_and_dark(show: Callable[..., LabPage], width: int, scheme: str) -> None:
    page = show("data=circles&n=60&rounds=10", width, scheme)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("getComputedStyle(document.documentElement).getPropertyValue('--scheme').trim()") == scheme
    ratio = page.run("plot.clientWidth / plot.clientHeight")
    assert 0.9 < ratio < 1.6
    small = page.run(
        "[...document.querySelectorAll('button, select')].filter(e => e.offsetHeight && e.offsetHeight < 30)"
        ".map(e => e.id)"
    )
    assert small == []
    page.run("document.getElementById('theme').click()")
    other = "light" if scheme == "dark" else "dark"
    assert page.run("getComputedStyle(document.documentElement).getPropertyValue('--scheme').trim()") == other
    page.check_quiet()


def test_the_page_can_be_heard(show: Callable[..., LabPage]) -> None:
    """Every control has a name, and a summary is spoken when the page has come to rest."""
    page = show("data=moons&n=60&rounds=10&round=3")
    tree = page.browser.ask("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "slider", "combobox", "checkbox", "radio", "image"}
    nameless = [
        node["nodeId"]
        for node in tree
        if not node.get("ignored")
        and node["role"]["value"] in roles - {"MenuListPopup"}
        and not node["name"].get("value")
    ]
    assert nameless == []
    page.wait("document.getElementById('summary').textContent")
    spoken = page.run("document.getElementById('summary').textContent")
    assert spoken.startswith("AdaBoost on 60 points, round 3 of 10: training error ")
    assert page.run("document.getElementById('summary').getAttribute('aria-live')") == "polite"
    assert page.run("document.querySelector('#errors canvas').ariaLabel").startswith("Error after round 3: training")
    page.check_quiet()
