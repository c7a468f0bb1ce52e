"""Who handed in what, and several submissions of one student that are compared."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from courses import COURSE, hand_in

from grader.classes.decisions import Decisions
from grader.classes.hand_ins import HandIns, described_matches, hand_ins
from grader.classes.roster import RosterEntry
from grader.classes.times import Stamp, Time, Times, Worksheet
from grader.classes.work import combined, comparable
from grader.submissions.find import find_submissions
from grader.submissions.reader import read_submission

UNITS = ["sums", "means"]


def test_a_unit_may_import_what_an_earlier_submission_has_and_only_those_with_the_unit_are_compared(
    tmp_path: Path,
) -> None:
    folders = [
        hand_in(tmp_path / "1", "first = 1\n", "sums"),
        hand_in(tmp_path / "2", "from sums import first\n", "means"),
        hand_in(tmp_path / "3", "first = 3\n", "sums"),
    ]
    read = [read_submission("ada", folder, ["means"], tmp_path, UNITS) for folder in folders]
    [(number, submission)] = comparable(read)
    assert (number, submission.units["means"].code) == (1, read[1].units["means"].code)
    assert submission.siblings["sums"].cells == ("first = 1\n",)


def test_without_the_unit_in_any_submission_the_last_one_is_graded(tmp_path: Path) -> None:
    folders = [hand_in(tmp_path / name, "first = 1\n", "sums") for name in ("1", "2")]
    read = [read_submission("ada", folder, ["means"], tmp_path, UNITS) for folder in folders]
    assert [number for number, _ in comparable(read)] == [1]


@pytest.mark.parametrize(
    ("hours", "chosen"),
    [((2, 1), 0), ((1, 2), 1), ((1, 1), 1), ((2, None), 1), ((None, None), 1)],
)
def test_the_last_submission_is_that_of_the_latest_time_or_the_last_one_given_if_a_time_is_unknown(
    tmp_path: Path, hours: tuple[int | None, ...], chosen: int
) -> None:
    folders = [hand_in(tmp_path / name, f"first = {name}\n", "sums") for name in ("1", "2", "3")]
    (folders[2] / "sums.py").unlink()  # this one has no file of the unit
    read = [read_submission("ada", folder, ["sums"], tmp_path, UNITS) for folder in folders]
    day = datetime.datetime(2027, 1, 25, tzinfo=datetime.UTC)
    at = [None if hour is None else day + datetime.timedelta(hours=hour) for hour in (*hours, 3)]
    submission, numbers = combined(read, [{"sums": Time(one, "times.csv")} for one in at])
    assert numbers == {"sums": chosen}
    assert submission.units["sums"].code == read[chosen].units["sums"].code


ROSTER = [
    RosterEntry("jane", "Jane Doe", "11", "jdoe@a.org"),
    RosterEntry("john", "John Doe", "12", "jdoe@b.org"),
    RosterEntry("ada", "Ada Roe", "13", "ada@b.org"),
]


def class_of(folder: Path, *names: str, entries: list[RosterEntry] = ROSTER) -> tuple[HandIns, list[str]]:
    """The submissions in folders with these names, and what is printed about them."""
    for name in names:
        hand_in(folder / "class" / name, "first = 1\n", "sums")
    decisions = Decisions(COURSE, entries)
    came = find_submissions([folder / "class"], UNITS, folders=decisions.folders)
    found = hand_ins(came, decisions)
    return found, described_matches(found, entries, came)


MOODLE = "_assignsubmission_file_"
CASES = {
    "it fits two": (
        ["jdoe", "ada"], {"ada"}, [],
        "'jdoe' fits Jane Doe (jane) and John Doe (john) in the roster, so it was not graded: write 'jdoe'",
    ),
    "two by one student": (["Jane Doe", "Jane-Doe", "ada"], {"ada"}, ["john"], "are both called 'Jane-Doe'"),
    "clones": (
        ["attention-ada", "attention-jane", "attention-zed"], {"ada", "jane", "attention-zed"}, ["john"],
        "Matched by login: 2.\nNot in the roster, and graded under their own names: attention-zed.",
    ),
    "one login after a prefix": (
        ["hw-ada", "hw-zed"], {"hw-ada", "hw-zed"}, ["jane", "john"],
        "own names: hw-ada (perhaps by ada), hw-zed.",
    ),
    "the login of another assignment": (
        ["hw1-ada", "hw1-jane", "hw2-john"], {"ada", "jane", "hw2-john"}, [], "own names: hw2-john (perhaps by john)."
    ),
    "a clone of a student who handed in besides": (
        ["hw-ada", "ada"], {"hw-ada", "ada"}, ["jane", "john"], "own names: hw-ada (perhaps by ada)."
    ),
    "without names": (
        [f"Participant_12{MOODLE}", f"Participant_4711{MOODLE}"], {"john", "Participant_4711"}, [],
        ": the download is anonymous, and the roster does not say who is Participant_4711.",
    ),
    "groups without names": (
        [f"Default group-Participant_12{MOODLE}", f"Default group-Participant_4711{MOODLE}"],
        {"john", "Default-group-Participant_4711"}, [], "does not say who is Default-group-Participant_4711.",
    ),
    "nothing fits": (
        [f"Teilnehmer_4711{MOODLE}", f"Teilnehmer_4712{MOODLE}"], {"Teilnehmer_4711", "Teilnehmer_4712"}, [],
        "class': no submission fits the roster, and the roster does not say who is Teilnehmer_4711,",
    ),
    "Gradescope without submitters": (["submission_101", "ada"], {"ada", "submission_101"}, [], "anonymous"),
}  # fmt: skip


@pytest.mark.parametrize(("names", "of", "absent", "sentence"), CASES.values(), ids=CASES)
def test_who_may_have_made_a_submission_that_is_not_graded_has_not_handed_in_nothing(
    tmp_path: Path, names: list[str], of: set[str], absent: list[str], sentence: str
) -> None:
    found, printed = class_of(tmp_path, *names)
    assert (set(found.of), found.absent) == (of, absent)
    assert set(found.unclear) == {entry.student for entry in ROSTER} - of - {*absent}
    assert sentence in "\n".join([*printed, *found.problems, *found.unclear.values()])
    assert {*found.problems} <= {*found.unclear.values()}


def test_a_name_in_the_column_folder_decides_whose_a_submission_is(tmp_path: Path) -> None:
    jane, *others = ROSTER
    entries = [RosterEntry(jane.student, jane.name, jane.id, jane.email, folder="jdoe"), *others]
    found, printed = class_of(tmp_path, "jdoe", "ada", "Jane Doe_99", entries=entries)
    assert (set(found.of), found.absent, found.problems) == ({"jane", "ada"}, ["john"], [])
    assert "Left out, because the roster names another folder of the student: Jane-Doe_99." in printed


def test_of_two_students_of_one_name_a_named_folder_decides_for_both(tmp_path: Path) -> None:
    twins = [RosterEntry("jd", "Jane Doe", folder="Jane Doe 2"), RosterEntry("jane", "Jane Doe")]
    found, _ = class_of(tmp_path, "Jane Doe 2", "Doe Jane", entries=twins)
    assert {student: own[0].tree for student, own in found.of.items()} == {
        "jd": tmp_path / "class" / "Jane Doe 2",
        "jane": tmp_path / "class" / "Doe Jane",
    }


@pytest.mark.parametrize(("owner", "graded"), [("jane", {"jane": "12", "jd": "13"}), (None, {})])
def test_of_two_students_of_one_name_a_grading_worksheet_says_whose_a_number_is(
    tmp_path: Path, owner: str | None, graded: dict[str, str]
) -> None:
    twins = [RosterEntry("jd", "Jane Doe", email="jd@a.org"), RosterEntry("jane", "Jane Doe", email="jane@a.org")]
    for number in ("12", "13"):
        hand_in(tmp_path / "class" / f"Jane Doe_{number}_assignsubmission_file_", f"first = {number}\n", "sums")
    worksheet = Worksheet(tmp_path / "times_class.csv", [Stamp("12", owner, None), Stamp("13", "jd", None)])
    found = hand_ins(
        find_submissions([tmp_path / "class"], UNITS), Decisions(COURSE, twins, Times(worksheets={"class": worksheet}))
    )
    assert {student: own[0].number for student, own in found.of.items()} == graded
    assert "Jane-Doe_13 is jd" in found.matched["grading worksheet"]
    remedy = "or save its grading worksheet as times_class.csv beside the roster."
    assert [one.endswith(remedy) for one in found.problems] == ([] if graded else [True])


def test_a_name_in_another_alphabet_is_matched_and_what_cannot_have_a_report_is_not_nothing(tmp_path: Path) -> None:
    entries = [RosterEntry("nik", "Никита Петров"), RosterEntry("ivan", "Иван Петров"), RosterEntry("14", "Al Roe")]
    moodle = [f"{name}_{number}_assignsubmission_file_" for name, number in (("Никита Петров", 14), ("Jo Ny", 15))]
    found, _ = class_of(tmp_path / "moodle", *moodle, entries=entries)
    assert (set(found.of), found.absent) == ({"nik", "Jo-Ny_15"}, ["ivan", "14"])
    entries += [RosterEntry("petr", "Petr"), RosterEntry("vas", "Petr Вас"), RosterEntry("nov", "Petr Нов")]
    mixed = [f"{name}_assignsubmission_file_" for name in ("Petr_1", "Petr Нов_2")]
    found, _ = class_of(tmp_path / "mixed", *mixed, entries=entries)
    assert (set(found.of), len(found.problems)) == ({"petr", "nov"}, 0)
    found, _ = class_of(tmp_path / "folders", "Петров Никита", "jo", entries=entries)
    assert (set(found.of), found.absent, set(found.unclear)) == ({"jo"}, ["ivan", "14", "petr", "vas", "nov"], {"nik"})


def test_what_the_roster_names_inside_the_folder_of_a_unit_is_the_whole_groups(tmp_path: Path) -> None:
    entries = [
        RosterEntry("nik", folder="Группой"),
        RosterEntry("ivan", folder="группой"),
        RosterEntry("zoe", folder="team 7.zip"),
    ]
    entries += [RosterEntry("ann", folder="team 9"), RosterEntry("bo", folder="team 9")]
    for name in ("Группо\u0438\u0306", "team 7", "team 9", "team-9"):  # the first one is as macOS writes it
        hand_in(tmp_path / "class" / "sums" / name, "first = 1\n", "sums")
    found, printed = class_of(tmp_path, entries=entries)
    assert (set(found.of), found.absent, set(found.unclear)) == ({"nik", "ivan", "zoe"}, [], {"ann", "bo"})
    assert found.of["nik"][0].ties == found.of["ivan"][0].ties
    assert not any("not here" in sentence for sentence in printed)


def test_what_a_teacher_hands_in_is_left_out(tmp_path: Path) -> None:
    for name in ("cs-sums-ada", "cs-sums-tom"):
        hand_in(tmp_path / "class" / name, "first = 1\n", "sums")
    came = find_submissions([tmp_path / "class"], UNITS)
    found = hand_ins(came, Decisions(COURSE, ROSTER, staff=[RosterEntry("", "Tom Ny", sis_login_id="tom")]))
    assert (set(found.of), found.strangers) == ({"ada"}, {})
    assert "Left out, because they are by teachers or assistants: cs-sums-tom." in described_matches(
        found, ROSTER, came
    )
