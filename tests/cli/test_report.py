"""The report of `committee fit`: written by the executable, read as HTML, opened in a browser."""

import base64
import hashlib
import html.parser
import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import committee
from committee.cli.catalog import list_estimators
from committee.cli.fit import fit_problem
from committee.cli.plan import Plan
from committee.cli.problem import Roles, define_problem
from committee.cli.report import FoldObserver, write_report
from committee.cli.report.charts import draw_bars
from committee.cli.report.dates import list_dates, show_date
from committee.cli.report.dependence import compute_dependence, compute_pairs
from committee.cli.report.features_section import rank_features
from committee.cli.report.markup import show_estimate
from committee.cli.report.raster import encode_png
from committee.cli.report.report_data import ReportData
from committee.cli.report.reproduction_section import Reproduction
from committee.cli.report.row_curve import fit_smaller_committees
from committee.cli.report.summary import summarize_fit
from committee.cli.table import Source, read_source
from committee.inspection import partial_dependence
from tests.cli.browser import open_browser
from tests.cli.conftest import Run, make_run

# The reports of further tasks are tested in test_tasks.py.
PLAIN_TASKS = ("classification", "regression")
NAMED = sorted({(name, task) for name, own in list_estimators().items() for task in own if task in PLAIN_TASKS})
SECTIONS = ["data", "model", "score", "curve", "calibration", "importance", "dependence", "surprises", "card", "repeat"]
EVIL = "<script>alert('x')</script>"
MOST_BYTES = 3_000_000


class Reader(html.parser.HTMLParser):
    """What a page is made of."""

    VOID = frozenset({"meta", "wbr", "br", "link", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.text += data


def read_page(path: Path) -> Reader:
    content = path.read_text(encoding="utf-8")
    assert len(content.encode()) < MOST_BYTES
    page = Reader(content)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert all(link is not None and link[1:] in ids for link in links)
    assert not {"link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}
    # One script, ours; the policy of the page allows no other, and no request.
    assert [attrs for tag, attrs in page.tags if tag == "script"] == [{}]
    script = content.split("<script>")[1].split("</script>")[0]
    assert script == (files("committee.cli.report") / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}'" in policy
    assert "http" not in re.sub("<script>.*?</script>", "", content, flags=re.DOTALL).replace("http-equiv", "")
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    # Figures have alternative text, tables have headers.
    assert all(attrs.get("aria-label") for tag, attrs in page.tags if tag == "svg")
    assert all(attrs.get("scope") for tag, attrs in page.tags if tag == "th")
    assert "nan" not in " ".join(
        str(v) for tag, a in page.tags if tag in ("circle", "rect", "path") for v in a.values()
    )
    return page


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the command has written models and reports."""
    folder = tmp_path_factory.mktemp("reports")
    run = make_run(folder)
    small = ["--folds", 3, "--set", "n_estimators=20"]
    for name, arguments in {
        "two": ["breast_cancer", "-e", "random-forest"],
        "three": ["iris", "-e", "adaboost"],
        "number": ["diabetes", "-e", "gradient-boosting"],
    }.items():
        done = run("fit", *arguments, *small, "-o", f"{name}.committee")
        assert done.returncode == 0, done.stderr
        assert f"Report written to {name}.report.html (" in done.stdout
    return folder


@pytest.mark.parametrize("name", ["two", "three", "number"])
def test_the_page_is_complete(fitted: Path, name: str) -> None:
    page = read_page(fitted / f"{name}.report.html")
    ids = {attrs["id"] for tag, attrs in page.tags if tag == "section"}
    assert ids == {*SECTIONS, *([] if name == "number" else ["confusion"])}
    assert "Left out" not in page.text
    for fragment in ("held-out rows", "standard error", "naive", "n_estimators", committee.__version__, "seed 0"):
        assert fragment in page.text
    assert sum(tag == "svg" for tag, _ in page.tags) > 15


def test_the_scores_are_those_of_the_command(tmp_path: Path, run: Run) -> None:
    done = run("fit", "iris", "-e", "tree", "--json", "--no-save", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["report"] == "page.html"
    assert found["model"] is None
    accuracy = found["scores"]["accuracy"]["model"]
    page = read_page(tmp_path / "page.html")
    assert show_estimate(accuracy["mean"], accuracy["standard_error"]) in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_the_committee_has_a_leaderboard(tmp_path: Path, run: Run) -> None:
    done = run("fit", "wine", "--set", "n_members=3", "--report", "page.html", "--no-save", "--json")
    assert done.returncode == 0, done.stderr
    page = read_page(tmp_path / "page.html")
    assert "Leaderboard" in page.text
    for row in json.loads(done.stdout)["leaderboard"]["members"]:
        assert row["name"] in page.text


def test_the_settings_repeat_it(tmp_path: Path, run: Run) -> None:
    arguments = ["iris", "-e", "extra-trees", "--set", "n_estimators=7", "--set", "criterion=entropy", "--folds", 4]
    first = run("fit", *arguments, "--seed", 5, "--report", "page.html", "--no-save", "--json")
    assert first.returncode == 0, first.stderr
    text = read_page(tmp_path / "page.html").text
    line = re.search(r"^committee fit iris .*$", text, re.MULTILINE)
    assert line is not None
    again = run(*line.group().split()[1:], "--json", "--no-save")
    toml = text.split("--config:")[1].split("The same versions")[0]
    assert tomllib.loads(toml)["set"] == {"n_estimators": 7, "criterion": "entropy"}
    (tmp_path / "fit.toml").write_text(toml)
    third = run("fit", "--config", "fit.toml", "--json", "--no-save")
    scores = [json.loads(done.stdout)["scores"] for done in (first, again, third)]
    assert scores[0] == scores[1] == scores[2]


def test_no_report(tmp_path: Path, run: Run) -> None:
    done = run("fit", "iris", "-e", "tree", "-o", "m.committee", "--no-report")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.committee"]
    done = run("fit", "iris", "--report", "p.html", "--no-report")
    assert done.returncode == 2
    assert "contradict" in done.stderr
    done = run("fit", "iris", "--report", "none/p.html")
    assert done.returncode == 2
    assert "no folder 'none'" in done.stderr


def test_nothing_of_the_table_is_taken_for_html(tmp_path: Path, run: Run) -> None:
    rng = np.random.default_rng(0)
    width = rng.normal(size=120)
    label = np.where(width + rng.normal(scale=0.3, size=120) > 0, EVIL, "a & b\" onload='x")
    table = pa.table(
        {
            f"{EVIL} width": width,
            "<b>color</b>": rng.choice(["<i>red</i>", "\x01 \x85 blue", "]]>"], size=120).tolist(),
            "target $name ${style} <h1>": label.tolist(),
        }
    )
    pyarrow.csv.write_csv(table, tmp_path / "<u>t&t.csv")
    for estimator in ("random-forest", "committee"):
        setting = "n_members=2" if estimator == "committee" else "n_estimators=10"
        given = ["--target", "target $name ${style} <h1>", "-e", estimator, "--set", setting]
        done = run("fit", "<u>t&t.csv", *given, "--report", "page.html", "--no-save")
        assert done.returncode == 0, done.stderr
        page = read_page(tmp_path / "page.html")
        assert not {"b", "i", "u"} & {tag for tag, _ in page.tags}
        assert sum(tag == "h1" for tag, _ in page.tags) == 1
        assert EVIL in page.text
        assert "target $name ${style} <h1> from <u>t&t.csv" in page.text
        assert not re.search("[\x00-\x08\x80-\x9f]", page.text)


@pytest.mark.parametrize(("name", "task"), NAMED)
def test_every_estimator_has_a_report(tmp_path: Path, table: pa.Table, name: str, task: str) -> None:
    plain = name in ("bernoulli-nb", "single-feature-nb", "boostexter")
    source = read_source("iris" if task == "classification" else "diabetes", "utf-8")
    if not plain:
        source = Source("trees.csv", table, "species" if task == "classification" else "height")
    problem = define_problem(source, Roles(), "auto")
    cls = getattr(committee, list_estimators()[name][task])  # type: ignore[index]
    counts = {"n_estimators": 5, "max_iter": 5, "n_rounds": 5, "n_members": 2}
    settings = {key: value for key, value in counts.items() if key in cls().get_params()}
    plan = Plan(name, settings, folds=2, seed=0, jobs=1)
    observer = FoldObserver(problem, plan)
    results = fit_problem(problem, plan, observer)
    write_report(observer, results, Reproduction("committee fit", ""), tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert results.estimator in page.text
    assert observer.shuffles, observer.why_no_shuffles


def test_curves_end_where_the_model_does() -> None:
    problem = define_problem(read_source("breast_cancer", "utf-8"), Roles(), "auto")
    for name in ("random-forest", "bagging", "adaboost", "hist-gradient-boosting"):
        key = "max_iter" if name.startswith("hist") else "n_estimators"
        plan = Plan(name, {key: 12, "early_stopping": False} if key == "max_iter" else {key: 12}, 3, 0, 1)
        observer = FoldObserver(problem, plan)
        results = fit_problem(problem, plan, observer)
        curve = observer.make_curve()
        assert curve is not None
        assert curve.numbers.tolist() == list(range(1, 13))
        assert tuple(curve.scores[:, -1]) == pytest.approx(results.comparisons["accuracy"].model.folds)


def test_important_features_are_found(table: pa.Table) -> None:
    problem = define_problem(Source("trees.csv", table, "species"), Roles(drop=("height",)), "auto")
    for name, settings in {"random-forest": {"n_estimators": 30}, "committee": {"n_members": 2}}.items():
        plan = Plan(name, settings, 3, 0, 1)
        observer = FoldObserver(problem, plan)
        results = fit_problem(problem, plan, observer)
        observer.measure_full_model(results.model, results.leaderboard)
        drops = np.concatenate(observer.shuffles, axis=1).mean(axis=1)
        first = [problem.columns[k].name for k in np.argsort(-drops)[:2]]
        assert set(first) == {"width", "color"}
        assert observer.shuffled_rows.startswith("on held-out rows" if name == "random-forest" else "on rows that a")


def test_the_summary_is_of_the_numbers(table: pa.Table, tmp_path: Path) -> None:
    problem = define_problem(Source("trees.csv", table, "species"), Roles(drop=("height",)), "auto")
    plan = Plan("random-forest", {"n_estimators": 30}, 3, 0, 1)
    observer = FoldObserver(problem, plan)
    results = fit_problem(problem, plan, observer)
    what, how_well, what_matters = summarize_fit(
        ReportData(results, observer), rank_features(ReportData(results, observer))
    )
    accuracy = results.comparisons["accuracy"]
    assert f"from {len(problem.columns)} columns of trees.csv" in what
    assert f"fitted to {problem.n_rows:,} rows" in what
    assert show_estimate(accuracy.model.mean, accuracy.model.error) in how_well
    assert "clearly better than" in how_well
    means = observer.average_importances()
    assert means is not None
    assert what_matters.startswith(f"What matters most is {max(means, key=lambda name: means[name])}")
    # A target that has nothing to do with the table.
    rng = np.random.default_rng(0)
    noise = table.set_column(
        table.column_names.index("species"), "species", pa.array(rng.choice(["a", "b"], len(table)))
    )
    problem = define_problem(Source("noise.csv", noise, "species"), Roles(drop=("height",)), "auto")
    observer = FoldObserver(problem, plan)
    results = fit_problem(problem, plan, observer)
    sentences = summarize_fit(ReportData(results, observer), rank_features(ReportData(results, observer)))
    assert "clearly better" not in sentences[1]


def test_scores_by_rows(table: pa.Table) -> None:
    problem = define_problem(Source("trees.csv", table, "species"), Roles(drop=("height",)), "auto")
    plan = Plan("random-forest", {"n_estimators": 10}, 3, 0, 1)
    observer = FoldObserver(problem, plan)
    results = fit_problem(problem, plan, observer)
    curve = observer.make_row_curve()
    assert curve is not None
    sizes = [one.n_rows for one in curve.points]
    assert sizes == sorted(sizes)
    assert sizes[-1] == round(problem.n_rows * 2 / 3)
    # The last point is the score of the folds themselves.
    assert curve.points[-1].score == pytest.approx(results.comparisons["accuracy"].model.mean)


def test_scores_of_a_committee_by_models_and_rows(table: pa.Table) -> None:
    problem = define_problem(Source("trees.csv", table, "species"), Roles(drop=("height",)), "auto")
    plan = Plan("committee", {"n_members": 3}, 3, 0, 1)
    observer = FoldObserver(problem, plan)
    results = fit_problem(problem, plan, observer)
    trace = results.model.score_trace_
    assert trace[0]["name"] == "prior"
    assert {row["name"] for row in trace} == {row["name"] for row in results.model.leaderboard_}
    # Weights are fitted to half of the rows, so that the last score is near the nested estimate.
    assert abs(trace[-1]["score"] - results.model.score_estimate_) < 3 * results.model.score_error_
    assert trace[-1]["score"] > trace[0]["score"]
    points, part, rest = fit_smaller_committees(problem, results.model, 1e9, 0)
    assert points[-1].n_rows == problem.n_rows
    assert points[-1].score == results.model.score_estimate_
    assert [one.n_rows for one in points[-2:]] == [problem.n_rows // 2, problem.n_rows]
    assert part.score_estimate_ == points[-2].score
    assert len(rest) == problem.n_rows - problem.n_rows // 2
    # Without time there are no further fits.
    assert fit_smaller_committees(problem, results.model, 0.0, 0)[1] is None


def test_dependence_is_that_of_the_library() -> None:
    problem = define_problem(read_source("diabetes", "utf-8"), Roles(), "auto")
    forest = committee.RandomForestRegressor(10, random_state=0, n_jobs=1).fit(problem.features, problem.y)
    column = next(one for one in problem.columns if one.name == "bmi")
    found = compute_dependence(forest, problem.features, column, problem.features, problem.target)
    expected = partial_dependence(forest, problem.features, "bmi", custom_values={"bmi": found.marks}, method="brute")
    assert found.predictions.mean(axis=1)[:, 0] == pytest.approx(expected["average"][0])
    other = next(one for one in problem.columns if one.name == "s5")
    (pair,) = compute_pairs(forest, problem.features, [column, other], problem.features, problem.target, 2)
    marks = {"bmi": pair.marks[0], "s5": pair.marks[1]}
    rows = problem.features.slice(0, 60)
    joint = partial_dependence(forest, rows, ("bmi", "s5"), custom_values=marks, method="brute")
    assert pair.values == pytest.approx(joint["average"][0])
    assert 0.0 <= pair.interaction <= 1.0


def test_curves_are_scikit_learns(fitted: Path) -> None:
    text = read_page(fitted / "two.report.html").text
    problem = define_problem(read_source("breast_cancer", "utf-8"), Roles(), "auto")
    results = fit_problem(problem, Plan("random-forest", {"n_estimators": 20}, 3, 0, None))
    occurred, score = problem.y == "malignant", results.predictions[:, 1]
    assert f"area {roc_auc_score(occurred, score):.3f}" in text
    assert f"average precision {average_precision_score(occurred, score):.3f}" in text


def test_long_names_have_two_lines() -> None:
    names = ["the mean distance from the centre of the cell nucleus", "short"]
    bars = draw_bars(names, [1.0, 2.0], "share", "Bars")
    shown = re.findall("<text[^>]*>([^<]*)</text>", bars)
    assert "short" in shown
    assert "cell nucleus" in " ".join(shown)
    assert f"<title>{names[0]}: 1</title>" in bars


def test_a_raster_is_a_png(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib.image", reason="matplotlib reads the PNG back")
    import io

    pixels = np.random.default_rng(0).integers(0, 256, size=(5, 7, 4)).astype(np.uint8)
    data = base64.b64decode(encode_png(pixels).partition(",")[2])
    read = matplotlib.imread(io.BytesIO(data), format="png")
    assert (np.round(read * 255).astype(np.uint8) == pixels).all()


SHOWS = """(() => {
  const seen = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_ELEMENT);
  const wide = [...document.querySelectorAll('body *')].filter(
    e => !e.closest('.scroll') && !e.closest('svg') && e.getBoundingClientRect().right > innerWidth + 1
      && !e.classList.contains('skip')).map(e => e.tagName);
  return {title: document.title, width: document.documentElement.scrollWidth, inner: innerWidth, wide,
    sections: [...document.querySelectorAll('section > h2')].length,
    paper: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
    line: getComputedStyle(document.querySelector('svg .line')).stroke};
})()"""


@pytest.mark.parametrize("name", ["two", "number"])
def test_in_a_browser(fitted: Path, tmp_path: Path, name: str) -> None:
    path = fitted / f"{name}.report.html"
    with open_browser(tmp_path) as browser:
        colors = set()
        for width, scheme in ((1200, "light"), (1200, "dark"), (360, "light")):
            browser.open(path, width=width, scheme=scheme)
            shown = browser.run(SHOWS)
            assert "from" in shown["title"]
            assert shown["sections"] == (10 if name == "number" else 11)
            assert shown["width"] <= shown["inner"] == width
            assert shown["wide"] == []
            colors.add((shown["paper"], shown["ink"], shown["line"]))
            picture = browser.take_picture()
            assert picture.startswith(b"\x89PNG")
            assert len(picture) > 20_000  # a blank page has a fifth of it
        assert len(colors) == 2
        browser.open(path, media="print", scheme="dark")
        assert browser.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert browser.print_pages().startswith(b"%PDF")
        assert browser.list_complaints() == []
        assert set(browser.list_requests()) == {path.resolve().as_uri()}


def test_dates_are_written_as_dates(tmp_path: Path) -> None:
    day = pa.array(np.arange(0, 4000, 20, dtype=np.int32)).cast(pa.date32())
    table = pa.table({"day": day, "y": np.arange(200.0)})
    problem = define_problem(Source("t", table), Roles("y"), "regression")
    plan = Plan("random-forest", {"n_estimators": 5}, 2, 0, 1)
    observer = FoldObserver(problem, plan)
    results = fit_problem(problem, plan, observer)
    write_report(observer, results, Reproduction("", ""), tmp_path / "page.html")
    text = Reader((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "1970-01-01 to 1980-11-24, mean 1975-06-14" in text
    assert ">1975</text>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "seconds)" not in text


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("2020-01-01", "2020-01-02", ["2020-01-01 00:00", "2020-01-01 06:00", "2020-01-01 12:00"]),
        ("2020-01-01", "2020-01-05", ["2020-01-01", "2020-01-02", "2020-01-03"]),
        ("2020-01-15", "2020-07-15", ["2020-04", "2020-07"]),
        ("1999-06-01", "2005-06-01", ["2000", "2002", "2004"]),
        ("1600-01-01", "2020-01-01", ["1600", "1700", "1800"]),
    ],
)
def test_round_dates(low: str, high: str, expected: list[str]) -> None:
    ends = [float(np.datetime64(end, "s").astype(np.int64)) for end in (low, high)]
    ticks = list_dates(*ends)
    assert [text for _, text in ticks][:3] == expected
    assert 2 <= len(ticks) <= 5
    assert all(ends[0] <= place <= ends[1] for place, _ in ticks)


def test_dates_that_no_calendar_holds() -> None:
    assert list_dates(0.0, 1e18) == []
    assert list_dates(0.0, 0.5) == []
    assert show_date(1e18) == "–"
