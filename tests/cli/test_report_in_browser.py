"""The reports opened in a browser: tooltips by pointer and keyboard, pages of classes, phone, print, and no network."""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import make_classification

from committee.cli import report
from committee.cli.fit import fit_problem
from committee.cli.output import write_model
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem
from committee.cli.report import FoldObserver, summarize_training, write_model_report, write_report
from committee.cli.report.charts import Axis, Chart, draw_bars, draw_matrix, draw_surface, fit_axis
from committee.cli.report.reproduction_section import Reproduction
from committee.cli.table import Source
from tests.cli.browser import Browser, find_browser, open_browser
from tests.cli.test_report import MOST_BYTES, SHOWS, read_page

LONG = "a feature whose name is so long that it cannot stand on one line of a chart number "
N_CLASSES = 10
SIZES = {"phone": 390, "laptop": 1280}


def make_source(seed: int, shift: float = 0.0) -> Source:
    X, y = make_classification(
        500, 6, n_informative=5, n_redundant=0, n_classes=N_CLASSES, n_clusters_per_class=1, random_state=3
    )
    rows = np.random.default_rng(seed).permutation(500)[:400]
    columns = {f"{LONG}{k}": X[rows, k] + shift * (k == 0) for k in range(6)}
    return Source("many.csv", pa.table({**columns, "kind": [f"class {k}" for k in y[rows]]}), "kind")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report of a fit to ten classes, and that of its model on a table that has drifted."""
    find_browser()
    folder = tmp_path_factory.mktemp("pages")
    problem = define_problem(make_source(0), Roles(), "auto")
    plan = Plan("random-forest", {"n_estimators": 20}, 3, 0, 1)
    observer = FoldObserver(problem, plan)
    results = fit_problem(problem, plan, observer)
    write_report(observer, results, Reproduction("committee fit", ""), folder / "fit.html")
    notes = summarize_training(problem, results, observer.average_importances()).write_notes()
    write_model(results.model, folder / "m.committee", notes)
    new = make_source(1, shift=3.0)
    pa.csv.write_csv(new.table, folder / "new.csv")
    write_model_report(str(folder / "m.committee"), str(folder / "new.csv"), None, folder / "new.html")
    return folder


def settle(browser: Browser) -> None:
    """Wait for the frame after the next: events of scrolling, which hide the tip, come before it."""
    browser.run("requestAnimationFrame(() => requestAnimationFrame(() => { window.settled = true; })), settled = false")
    while not browser.run("window.settled"):
        time.sleep(0.01)


def move_to(browser: Browser, selector: str) -> None:
    box = browser.run(
        f"(() => {{const e = document.querySelector('{selector}'); e.scrollIntoView({{block: 'center'}});"
        "const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2];})()"
    )
    settle(browser)
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])


def press(browser: Browser, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key)


def read_tip(browser: Browser) -> str | None:
    return browser.run("(() => {const t = document.querySelector('#tip'); return t.hidden ? null : t.textContent;})()")


def test_tooltips_by_pointer_and_keyboard(pages: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path) as browser:
        browser.open(pages / "fit.html", width=1280)
        assert read_tip(browser) is None
        move_to(browser, "#importance figure svg rect.bar")
        tip = read_tip(browser)
        assert tip is not None
        assert tip.startswith(LONG.strip())
        assert "±" in tip
        inside = browser.run(
            "(() => {const b = tip.getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth;})()"
        )
        assert inside is True
        # The marks have no title left, which the browser would show a second time.
        assert browser.run("document.querySelectorAll('#importance figure svg')[0].querySelector('title')") is None
        # Focus scrolls the page: a pointer that stays over it could come to lie on another mark.
        browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
        browser.run("document.querySelector('#calibration figure svg').focus()")
        settle(browser)
        read = []
        for _ in range(3):
            press(browser, "ArrowRight")
            read.append(read_tip(browser))
        assert len(set(read)) == 3
        assert all(one is not None and "of its rows found" in one for one in read), read
        press(browser, "ArrowLeft")
        assert read_tip(browser) == read[1]
        press(browser, "Escape")
        assert read_tip(browser) is None
        # Every figure with tooltips can be reached by the keyboard; small charts in tables are no stops.
        stops = browser.run(
            "[...document.querySelectorAll('svg')].map(s => [Boolean(s.closest('figure')), s.tabIndex])"
        )
        assert {in_figure for in_figure, index in stops if index == 0} == {True}
        assert browser.run("document.querySelector('#tip').getAttribute('role')") == "status"
        assert browser.list_complaints() == []


def test_a_page_for_each_class(pages: Path, tmp_path: Path) -> None:
    page = read_page(pages / "fit.html")
    ids = [str(attrs["id"]) for tag, attrs in page.tags if tag == "article"]
    assert sorted(ids) == sorted(f"class-{k}" for k in range(N_CLASSES))
    shown = "[...document.querySelectorAll('.class-page')].filter(e => e.offsetHeight > 0).map(e => e.id)"
    with open_browser(tmp_path) as browser:
        browser.open(pages / "fit.html", width=1280)
        assert browser.run(shown) == []
        browser.run("document.querySelector('#classes table a').click()")
        found = browser.run(shown)
        assert len(found) == 1
        browser.run("document.querySelector('#classes .class-page:target p a').click()")
        assert browser.run(shown) == []
        browser.open(pages / "fit.html", media="print")
        assert len(browser.run(shown)) == N_CLASSES
        assert browser.print_pages().count(b"/Type /Page\n") >= N_CLASSES


@pytest.mark.parametrize("name", ["fit", "new"])
def test_sizes(pages: Path, tmp_path: Path, name: str) -> None:
    path = pages / f"{name}.html"
    assert path.stat().st_size < MOST_BYTES
    with open_browser(tmp_path) as browser:
        for width in SIZES.values():
            for part in ("", "#class-1"):
                browser.open(path, width=width)
                browser.run(f"location.hash = '{part}'")
                shown = browser.run(SHOWS)
                assert shown["width"] <= shown["inner"] == width
                assert shown["wide"] == []
            # Names stand inside their charts.
            outside = browser.run(
                "[...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width)"
                ".flatMap(s => [...s.querySelectorAll('text')].filter(t => t.getBoundingClientRect().left < "
                "s.getBoundingClientRect().left - 1).map(t => t.textContent))"
            )
            assert outside == []
        # A sheet of A4 with margins of a centimetre.
        browser.open(path, width=718, media="print")
        assert browser.run("document.documentElement.scrollWidth") == 718
        assert browser.list_complaints() == []
        assert set(browser.list_requests()) == {path.resolve().as_uri()}


def test_without_scripts_everything_is_there(pages: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path) as browser:
        browser.ask("Emulation.setScriptExecutionDisabled", value=True)
        browser.open(pages / "fit.html", width=1280)
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)
        assert browser.run("document.querySelector('#tip')") is None
        # The marks keep their titles, which the browser shows by itself.
        assert browser.run("document.querySelectorAll('figure svg title').length") > 100
        assert browser.run("document.querySelectorAll('figure svg')[0].getBoundingClientRect().height") > 100


def test_drift_is_shown(pages: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path) as browser:
        browser.open(pages / "new.html", width=1280)
        assert "values tend to be larger" in browser.run("document.querySelector('#drift ul').textContent")
        move_to(browser, "#drift table tbody tr:nth-child(2) svg rect:nth-child(6)")
        tip = read_tip(browser)
        assert tip is not None
        assert "training" in tip
        assert "new" in tip
        assert browser.run("document.querySelectorAll('.summary p').length") == 3
        assert browser.list_complaints() == []


def test_captions_of_wide_tables_are_read_on_a_phone(pages: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path) as browser:
        browser.open(pages / "fit.html", width=SIZES["phone"])
        script = (
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
            ".map(e => {e.scrollLeft = LEFT; const b = e.querySelector('caption span').getBoundingClientRect();"
            "return [b.left, b.right];})"
        )
        for left in ("0", "e.scrollWidth"):
            places = browser.run(script.replace("LEFT", left))
            assert places
            assert all(start >= 0 and end <= SIZES["phone"] for start, end in places), places


MISPLACED = """[...document.querySelectorAll('figure svg')].flatMap(svg => {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
  const cut = texts.filter(([_, r]) => r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1);
  const pairs = texts.flatMap(([a, r], i) => texts.slice(i + 1).filter(([_, q]) =>
    Math.min(r.right, q.right) - Math.max(r.left, q.left) > 2
    && Math.min(r.bottom, q.bottom) - Math.max(r.top, q.top) > 4
  ).map(([b]) => a + ' | ' + b));
  return [...cut.map(([a]) => a), ...pairs];
})"""


def test_long_names_in_charts_are_whole_and_apart(tmp_path: Path) -> None:
    names = [f"group of rows with number {k}" for k in range(8)]
    lines = Chart(fit_axis([0.0, 1.0], "recall"), fit_axis([0.0, 1.0], "precision"), "lines")
    for k in range(8):
        lines.line([0, 1], [0, k / 8], k, f"group number {k} 0.123")
    steps = tuple(f"−0.0{k}318" for k in range(8))
    charts = [
        draw_matrix(names, np.full((8, 8), 12), "matrix"),
        draw_matrix([f"{k}" for k in range(60)], np.full((60, 60), 12), "large matrix"),
        draw_bars(names, np.arange(8), "share", "bars"),
        draw_surface(
            Axis(0, 8, "income in thousands", names=steps),
            Axis(0, 8, "feature", names=steps),
            np.arange(64.0).reshape(8, 8),
            "probability",
            "surface",
        ),
        lines.render(),
    ]
    style = (Path(report.__file__).parent / "page.css").read_text(encoding="utf-8")
    head = '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += f"<style>{style}</style>"
    (tmp_path / "charts.html").write_text(head + "".join(f"<figure>{one}</figure>" for one in charts), encoding="utf-8")
    with open_browser(tmp_path) as browser:
        for width in (390, 820, 1400):
            browser.open(tmp_path / "charts.html", width=width)
            assert browser.run(MISPLACED) == []
    # The end of a name says which one it is.
    assert all(charts[0].count(f"umber {k}</text>") == 2 for k in range(8))
