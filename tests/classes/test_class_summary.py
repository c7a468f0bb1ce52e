"""The page on a class: what it says, what it hides, and how a real browser shows it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import made_class
import pytest
from browser import Sheet, a_browser
from bs4 import BeautifulSoup
from courses import COURSE, LONG_TO_COME
from made_reports import ATTACKS, exercise, made_course, marked, report, unit, unwritten
from playwright.sync_api import Browser
from typer.testing import CliRunner

from grader.classes.decisions import Decisions
from grader.classes.gradebook import Reports, gradebook_of
from grader.classes.roster import RosterEntry
from grader.classes.summary_page import Summary, change, page, read_class
from grader.cli.instructor import app
from grader.errors import GraderError
from grader.quizzes.items import VariedItem
from grader.quizzes.quiz_source import load_quiz
from grader.reports.folder import keep_earlier, write_report
from grader.reports.report_model import Message, Quiz, Received, Report, Timing, Unit
from grader.submissions.submission import missing_file
from grader.text import UNSEEN

LATER = datetime.datetime.fromisoformat(LONG_TO_COME)
TODAY, WEEK_AGO = "2027-01-20T12:00:00+00:00", "2027-01-12T12:00:00+00:00"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
}
ANSWERS = {"order_of_terms": "b", "even_sums": "a c", "mean_of_two": "right", "how_many_terms": "right"}


class Term:
    """A course of two units that are over, the first with a quiz; and reports."""

    def __init__(self, folder: Path) -> None:
        units = {"sums": {"add": 1, "Scale": 1}, "means": {"mean": 1}}
        self.course = made_course(folder / "course", units, quizzes=["sums"])
        self.quiz = load_quiz(self.course.solutions / "sums_quiz.yml")
        self.reports = folder / "reports"

    def answered(self, answers: Mapping[str, str] = ANSWERS) -> Quiz:
        """The quiz of `sums`, marked. The answer `right` is the right number."""
        rows = {name: item.row(0) for name, item in self.quiz.items.items() if isinstance(item, VariedItem)}
        given = {name: str(rows[name]["answer"]) if raw == "right" else raw for name, raw in answers.items()}
        return marked(self.quiz, given)

    def sums(self, add: int = 4, scale: int = 1, mistake: str | None = None, **more: Any) -> Unit:
        """The first unit, with this many of its points."""
        exercises = {"add": exercise(add, 4 - add, mistake=mistake), "Scale": exercise(scale, 1 - scale)}
        return unit(exercises, **{"quiz": self.answered(), **more})

    def missing(self, name: str, quiz: Quiz | None = None) -> Unit:
        exercises = {"add": unwritten(4), "Scale": unwritten(1)} if name == "sums" else {"mean": unwritten(2)}
        quiz = quiz or (self.answered({}) if name == "sums" else None)
        return unit(exercises, path=None, remarks=[missing_file(name)], quiz=quiz)

    def shown(
        self, *reports: Report, names: bool = True, entries: Any = (), only: str | None = None, **course: Any
    ) -> Page:
        """The page on these reports; `course` has changes of the course."""
        for one in reports:
            write_report(one, None, self.reports)
        decisions = Decisions(self.course.model_copy(update=course), [*entries])
        return Page(page(read_class(decisions, self.reports, only), not names))


@pytest.fixture
def term(tmp_path: Path) -> Term:
    return Term(tmp_path)


def means(points: int = 2) -> Unit:
    return unit({"mean": exercise(points, 2 - points)}, path="means.py")


def of(student: str, *units: Unit, started: str = TODAY, messages: Any = ()) -> Report:
    names = [one for one in ("sums", "means") if len(units) == 2 or ("mean" in units[0].exercises) == (one == "means")]
    made = report(dict(zip(names, units, strict=True)), messages, suites="hidden")
    return made.model_copy(update={"student": student, "timing": Timing(started=started, seconds=1.0)})


def attempt(text: str) -> Message:
    return Message(unit="sums", exercise=None, kind="attempted", text=text, file=None, line=None)


class Page:
    """A page, and its sections as text."""

    def __init__(self, html: str) -> None:
        self.html = html
        self.soup = BeautifulSoup(html, "html.parser")

    def section(self, name: str) -> str:
        found = self.soup.find("section", {"aria-labelledby": name})
        assert found
        return " ".join(found.get_text(" ").replace("\xa0", " ").split())

    def rows(self, name: str) -> list[str]:
        found = self.soup.find("section", {"aria-labelledby": name})
        assert found
        return [" ".join(row.get_text(" ").replace("\xa0", " ").split()) for row in found.select("tbody tr")]

    @property
    def tiles(self) -> dict[str, str]:
        tiles = self.soup.select("header .tiles > div")
        return {one.dt.get_text(): one.dd.get_text() for one in tiles if one.dt and one.dd}


def test_the_header_counts_who_handed_in_and_who_did_not(term: Term) -> None:
    made = term.shown(
        of("ada", term.sums(), means()),
        of("bela", term.sums(2), term.missing("means")),
        of("chen", term.missing("sums"), term.missing("means")),
        of("dina", term.sums(), means(), started=WEEK_AGO).model_copy(update={"suites": "visible"}),
        of("emil", term.sums(), means()),
        entries=[
            *map(RosterEntry, ("ada", "bela", "chen", "dina")),
            RosterEntry("fay", exempt=frozenset({"sums", "means"})),
        ],
    )
    assert made.tiles == {
        "students": "5",
        "handed in": "2",
        "handed in nothing": "1",
        "not graded": "1",
        "median of the total": "50\xa0%",
    }
    assert [row.split(" points ")[1][:6] for row in made.rows("units")] == ["2 of 4", "1 of 4"]
    assert "Not in the roster, so not in the class: emil." in made.html
    assert "The newest report was made on 2027-01-20 12:00 UTC." in made.html


def test_files_as_students_receive_them_are_nothing_handed_in(term: Term) -> None:
    stubs = unit({"add": unwritten(4), "Scale": unwritten(1)}, quiz=term.answered({}))
    received = of("bela", stubs, unit({"mean": unwritten(2)}, path="means.py"))
    made = term.shown(of("ada", term.sums(), means()), received.model_copy(update={"handed_in": False}))
    assert (made.tiles["handed in"], made.tiles["handed in nothing"]) == ("1", "1")
    assert "There are no earlier reports" in made.section("change")
    assert made.rows("exercises")[1].startswith("add 100 %")
    assert [one.get_text() for one in made.soup.select(".helped ul > li")] == ["Nothing is handed in."]


def test_what_is_over_and_was_never_graded_is_an_open_case_and_no_total(term: Term) -> None:
    made = term.shown(of("ada", means()), of("bela", means(1)))
    assert (made.tiles["not graded"], made.tiles["median of the total"]) == ("2", "–")
    assert "sums: not graded. There is no report: grade again. ada, bela." in made.section("open")


def test_a_group_is_counted_once_and_its_students_are_named(term: Term) -> None:
    together = [
        of(name, term.sums(2, mistake="Not so."), means()).model_copy(update={"together": ["ada", "bela"]})
        for name in ("ada", "bela")
    ]
    made = term.shown(*together, of("chen", term.sums(4), means(0)))
    assert made.tiles["students"] == "3"
    assert made.rows("units")[1] == "Means means, 2 points 3 of 3 0 50 % 50 % 25 to 75 %"
    assert made.rows("exercises")[0] == "sums 2 submissions"
    assert "1 submission A mistake add , sums Not so. Who ada bela" in made.section("misconceptions")
    assert "2 submissions" in made.section("quizzes")
    assert "1 group handed in together." in made.html


def test_the_distribution_has_its_numbers_in_words(term: Term) -> None:
    made = term.shown(
        *(of(f"s{number}", unit({"mean": exercise(number, 10 - number)}, path="means.py")) for number in range(1, 11)),
        of("idle", term.missing("means").model_copy(update={"possible": 10})),
        only="means",
    )
    drawing = made.soup.select_one("svg.histogram")
    assert drawing
    assert drawing["role"] == "img"
    text = made.soup.find(id="histogram-text").get_text()  # type: ignore[union-attr]
    assert text.startswith("0 to 10 %: 1, 10 to 20 %: 1, ")
    assert text.endswith("90 to 100 %: 2. Quartiles: 25, 50 and 75 %.")
    assert "A quarter of the class has at most 25 %" in made.section("distribution")
    assert "In grey: 1 who handed in nothing." in made.section("distribution")
    assert made.rows("distribution")[0] == "0 to less than 10 % 1 1"


def test_a_unit_has_its_middle_and_who_was_late(term: Term) -> None:
    times = ["2027-01-09T00:00:00+00:00", "2027-01-11T00:00:00+00:00", None]
    received = [*(Received(at=time, source="times.csv") for time in times), Received(at=None, source="Canvas")]
    changes = [{"received": one, "due": "2027-01-10T00:00:00+00:00"} for one in received]
    late = [means(points).model_copy(update=change) for points, change in zip((0, 1, 2, 1), changes, strict=True)]
    reports = [*(of(f"s{number}", one) for number, one in enumerate(late)), of("x", term.missing("means"))]
    made = term.shown(*reports, only="means")
    # A time that is not known is an open case, and late only if Canvas says so.
    assert made.rows("units") == ["Means means, 2 points 4 of 5 2 50 % 50 % 38 to 62 %"]
    assert re.search(
        r"Time unknown: [^.]+ times\.csv [^.]+\. s2\. means: Time unknown: Canvas .* s3\.$", made.section("open")
    )


def test_an_exercise_has_its_share_with_an_interval(term: Term) -> None:
    strong = [of(f"strong{n}", term.sums(4), means(2)) for n in range(8)]
    weak = [of(f"weak{n}", term.sums(0, n % 2), means(n // 4)) for n in range(8)]
    made = term.shown(*strong, *weak, of("absent", term.missing("sums"), term.missing("means")))
    rows = made.rows("exercises")
    assert rows[0] == "sums 16 students"
    assert rows[1] == "add 50 % 28 to 72 8 0 0"
    assert re.search(r"Most difficult: add \(50 %\)", made.section("exercises"))


def test_an_exercise_that_is_not_written_or_waits_is_counted(term: Term) -> None:
    waiting = exercise(0, 1, reason=None, waiting_for="Depends on `add`; fix that first.")
    made = term.shown(
        of("ada", unit({"add": unwritten(4), "Scale": waiting}, quiz=term.answered()), term.missing("means")),
        of("bela", term.sums(), term.missing("means")),
    )
    assert made.rows("exercises")[1:3] == [
        "add 50 % 9 to 91 1 1 0",
        "Scale 50 % 9 to 91 1 0 1",
    ]


def test_misconceptions_have_their_sentence_and_students_the_most_frequent_first(term: Term) -> None:
    made = term.shown(
        *(of(name, unit({"mean": exercise(0, 2, mistake="Not so.")}, path="means.py")) for name in ("ada", "bela")),
        of("chen", term.sums(0, mistake="`add` subtracts."), term.missing("means")),
        entries=[RosterEntry("ada", name="Ada Lovelace"), RosterEntry("bela"), RosterEntry("chen")],
    )
    text = made.section("misconceptions")
    assert "2 students A mistake mean , means Not so. Who Ada Lovelace (ada) bela 1 student A mistake add" in text
    assert "<code>add</code> subtracts." in made.html


def test_quiz_items_have_every_answer_of_the_source_with_how_many_gave_it(term: Term) -> None:
    given = [ANSWERS, ANSWERS | {"order_of_terms": "a"}, ANSWERS | {"mean_of_two": "3.25", "even_sums": "a b"}]
    given += [{"order_of_terms": "a", "mean_of_two": "99"}, {}]
    made = term.shown(*(of(f"s{n}", term.sums(quiz=term.answered(one)), means()) for n, one in enumerate(given)))
    items = {
        item.span.get_text().strip(): [" ".join(row.get_text(" ").split()) for row in item.select("tbody tr")]
        for item in made.soup.select("details.item")
        if item.span
    }
    assert items["Order of terms"] == ["a) The sum. 2", "b) Nothing. 2 ✔ right", "c) The sign of the sum. 0"]
    assert items["Even sums"] == ["a) 1 + 3 3 ✔ right", "b) 1 + 2 1", "c) 2 + 4 2 ✔ right", "d) 2 + 5 0"]
    assert items["Mean of two"] == [
        "sum: 3.25 is their sum: the mean is half of it. 1",
        "the right answer 2 ✔ right",
        "another wrong answer 1",
    ]
    assert "Answers; left out: 1" in made.section("quizzes")  # of four students: the fifth answered nothing
    assert "8 items, 4 students" in made.section("quizzes")


def test_answers_of_a_quiz_that_has_changed_are_known_by_their_feedback(term: Term) -> None:
    def before(letter: str) -> Quiz:
        quiz = term.answered({"order_of_terms": letter})
        first = quiz.items["order_of_terms"]
        old = first.model_copy(update={"sentences": [f"Old: {one}" for one in first.sentences]})
        return quiz.model_copy(update={"items": quiz.items | {"order_of_terms": old}})

    given = {"s1": "a", "s2": "a", "s3": "b"}
    reports = [of(name, term.sums(quiz=before(letter)), means()) for name, letter in given.items()]
    assert term.shown(*reports).rows("quizzes")[3] == "Old: Addition is commutative. 2"


def test_who_needs_help_has_the_reasons_the_lowest_total_first(term: Term) -> None:
    undated = Received(at=None, source="Canvas")
    made = term.shown(
        of("well", term.sums(), means()),
        of("nothing", term.missing("sums"), term.missing("means")),
        of("quiz", term.missing("sums", term.answered()), means()),
        of("falls", term.sums(), means(0)),
        of("late", term.sums(), means().model_copy(update={"received": undated})),
        of("unread", term.sums(), unit({"mean": exercise(0, 2)}, path=None, remarks=["means.py could not be read."])),
    )
    found = {
        item.span.get_text(): [one.get_text() for one in item.select("ul > li")]
        for item in made.soup.select(".helped > li")
        if item.span
    }
    assert next(iter(found)) == "nothing"
    assert found["nothing"] == ["Nothing is handed in."]
    assert "sums: only the quiz, no exercise." in found["quiz"]
    assert found["falls"] == ["means: 0 %, after 67 % in sums."]
    assert found["late"] == ["means: time unknown, perhaps late."]
    assert "means: the file could not be read." in found["unread"]
    assert "well" not in found


@pytest.mark.parametrize("is_by_unit", [False, True])
def test_last_week_is_compared_with_the_reports_from_then(term: Term, is_by_unit: bool) -> None:
    def changed(one: Unit, digest: str) -> Unit:
        return one.model_copy(update={"answers": digest * 64})

    into = term.reports / "sums" if is_by_unit else term.reports
    older = of("ada", changed(term.sums(0), "1"), started="2027-01-02T12:00:00+00:00")
    before = of("ada", changed(term.sums(1), "2"), started=WEEK_AGO)
    since = of("ada", changed(term.sums(2), "3"), started="2027-01-15T12:00:00+00:00")
    after = of("ada", changed(term.sums(4), "4"))
    for first, second in [(older, before), (before, since), (since, after)]:
        keep_earlier(first, second, into)
    write_report(after, None, into)
    write_report(of("idle", term.sums(), started=WEEK_AGO), None, into)
    write_report(of("new", term.sums()), None, into)
    found = read_class(Decisions(term.course), term.reports).change
    assert (found.compared, found.active, found.done, found.points) == (2, 1, 1, 3)
    assert list(found.units) == ["sums"]
    assert term.shown().rows("change") == ["sums 1 1 +3"]


def test_before_a_unit_is_over_those_that_are_begun_count_without_quizzes(term: Term) -> None:
    later = {name: one.model_copy(update={"due": LATER}) for name, one in term.course.units.items()}
    uncounted = term.answered().model_copy(update={"points": None})
    begun = term.sums(2, quiz=uncounted)
    made = term.shown(of("ada", begun, term.missing("means")), units=later)
    assert "No unit is over yet" in made.html
    assert "Quizzes do not count yet." in made.html
    assert made.rows("units") == ["Sums sums, 5 points 1 of 1 0 60 % 60 % 60 to 60 %"]
    assert "No quiz counts yet" in made.section("quizzes")


NAMES = ["ada", "Lovelace", "lovelace@example.org", "9917"]


def test_without_names_no_student_is_on_the_page(term: Term) -> None:
    quoting = [attempt(f"It tried {name}: {name}") for name in NAMES]
    named = term.sums(0, mistake="Not so.", remarks=[f"{NAMES[1]}_sums.py was ignored."])
    reports = [
        of("ada", named, term.missing("means"), messages=quoting),
        of("bela", term.missing("sums"), term.missing("means")),
    ]
    entries = [
        RosterEntry("ada", name="Ada Lovelace", id="9917", email=NAMES[2], sis_login_id="lovelace"),
        RosterEntry("bela"),
    ]
    assert "Ada Lovelace (ada)" in term.shown(*reports, entries=entries).html
    made = term.shown(*reports, names=False, entries=entries)
    words = made.html.replace(made.soup.style.get_text(), "").casefold()  # type: ignore[union-attr]
    assert not [name for name in [*NAMES, "bela"] if re.search(rf"\b{re.escape(name.casefold())}\b", words)]
    assert "1 student A mistake" in made.section("misconceptions")
    assert "1 At least half of the units are not handed in" in made.section("help")
    assert "Attempts: 1" in made.section("open")


OF_MARKDOWN = {"code", "p", "pre", "ul", "ol", "li", "em", "strong", "br", "wbr"}
"""What a sentence of the course may have, besides formulas."""


def test_text_of_students_is_escaped_and_printable(term: Term) -> None:
    def structure(text: str) -> list[object]:
        hostile = term.sums(0, mistake=text, remarks=[text])
        assert hostile.quiz
        item = hostile.quiz.items["mean_of_two"].model_copy(update={"points": 0, "sentences": [text]})
        quiz = hostile.quiz.model_copy(update={"items": hostile.quiz.items | {"mean_of_two": item}})
        one = of("ada", hostile.model_copy(update={"quiz": quiz}), term.missing("means"), messages=[attempt(text)])
        made = term.shown(one, entries=[RosterEntry("ada", name=text)])
        for formula in made.soup.select(".math"):
            formula.decompose()
        tags = [(tag.name, tag.attrs) for tag in made.soup.find_all(True) if tag.name not in OF_MARKDOWN]
        return [tags, UNSEEN.findall(made.html)]

    harmless = structure("word")
    assert [attack for attack in ATTACKS if structure(attack) != harmless] == []


def test_the_same_reports_give_the_same_page(term: Term, tmp_path: Path) -> None:
    reports = [of(name, term.sums(2, mistake="Not so."), means()) for name in ("ada", "Bela", "chen")]
    pages = set()
    for folder, order in {"one": reports, "other": reports[::-1]}.items():
        term.reports = tmp_path / folder
        pages.add(term.shown(*order).html)
    assert len(pages) == 1


def test_the_command_writes_the_page_of_one_unit(term: Term, tmp_path: Path) -> None:
    write_report(of("ada", term.sums(), means()), None, term.reports)
    places = {"reports": term.reports, "out": tmp_path / "page.html", "course": term.course.root}
    options = [word for name, place in places.items() for word in (f"--{name}", str(place))]
    done = CliRunner().invoke(app, ["summary", *options, "--unit", "means", "--hide-names"])
    assert done.exit_code == 0, done.output
    assert done.output.endswith("page.html: 1 students; means.\n")
    written = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert written.rows("units") == ["Means means, 2 points 1 of 1 0 100 % 100 % 100 to 100 %"]
    assert CliRunner().invoke(app, ["summary", *options, "--unit", "mean"]).exit_code == 2


def test_a_folder_without_a_readable_report_is_an_error(term: Term) -> None:
    term.reports.mkdir()
    (term.reports / "ada.json").write_text("{}", encoding="utf-8")
    with pytest.raises(GraderError, match="holds no report of this version: grade again"):
        term.shown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as one:
        yield one


@pytest.fixture(scope="module")
def class_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page on a class of 25 in this course; beside it, that on one unit."""
    folder = tmp_path_factory.mktemp("class")
    made_class.write_class(folder / "reports", 25)
    for name, one in {"all": None, "unit": next(iter(COURSE.units))}.items():
        made = page(read_class(Decisions(COURSE), folder / "reports", one))
        (folder / f"{name}.html").write_text(made, encoding="utf-8")
    return folder / "all.html"


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_barrier_and_the_page_asks_for_nothing(look: str, browser: Browser, class_page: Path) -> None:
    sheet = Sheet(browser, class_page.with_name("unit.html"), **LOOKS[look])
    sheet.unfold()
    assert sheet.barriers() == []
    assert sheet.events == []
    sheet.close()


@pytest.mark.parametrize("width", [320, 800])
def test_nothing_but_wide_tables_scrolls_to_the_side(width: int, browser: Browser, class_page: Path) -> None:
    sheet = Sheet(browser, class_page, viewport={"width": width, "height": 740})
    for _ in range(2):  # folded, then unfolded
        assert sheet.page.evaluate("document.documentElement.scrollWidth") == width
        sheet.unfold()
    assert sheet.page.locator(".wide").first.evaluate("one => one.tabIndex") == 0  # the keyboard scrolls them
    sheet.close()


def test_a_browser_draws_the_bars_as_high_as_their_numbers(browser: Browser, class_page: Path) -> None:
    sheet = Sheet(browser, class_page, **LOOKS["phone"])
    counts = [int(one) for one in sheet.page.locator(".histogram .count").all_text_contents()]
    boxes = [one.bounding_box() for one in sheet.page.locator(".histogram rect:not(.box)").all()]
    heights = [box["height"] for box in boxes if box]
    assert sum(counts) == 25
    assert max(heights) == pytest.approx(160, abs=1)
    assert max(heights) / min(heights) == pytest.approx(max(counts) / min(counts), rel=0.05)
    sheet.close()


def test_the_page_of_a_large_class_is_smaller_than_a_megabyte() -> None:
    made = [made_class.a_report(one, made_class.NOW, len(COURSE.units)) for one in made_class.students(10)]
    found: Reports = {f"{one.student}.{n}": dict.fromkeys(one.units, one) for n in range(30) for one in made}
    now = made_class.NOW + datetime.timedelta(days=1)
    changed = change(found, Path("nowhere"), now)
    large = Summary(COURSE, gradebook_of(Decisions(COURSE), found, now), {}, changed, Path(), now, now, False)
    assert len(large.rows) == 300  # more than any list on the page has
    assert len(page(large).encode()) < 700_000  # and 250,000 for the texts of the quizzes
