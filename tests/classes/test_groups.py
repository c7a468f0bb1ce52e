"""Groups: a submission of several students is graded once, and whose it is."""

from __future__ import annotations

from pathlib import Path

import courses
import pytest
from downloads import write, zipped
from made_reports import exercise, made_course, report, unit

from grader.classes.decisions import Decisions, read_decisions
from grader.classes.hand_ins import Shard, described_matches, groups, hand_ins
from grader.classes.work import StudentWork, SubmissionWork, decided, different
from grader.cli.instructor.grade import _prepare as prepare
from grader.engine.grading import Graded
from grader.submissions.find import find_submissions
from grader.submissions.submission import Submission, UnitSource, UnitSubmission

RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
WRONG = RIGHT.replace("a + b", "a - b")
ROSTER = """\
student,name,email,folder,repository,section,sums
ada,Ada Doe,ada@x.org,group 7,,,
bela,Béla Kis,bela@x.org,group 7,,,2000-01-03T00:00:00+00:00
chen,Chen Li,chen@x.org,,our-course/attention-red,,
dina,Dina Novak,dina@x.org,,Our-Course/Attention-Red,,exempt
emil,Emil Roe,emil@x.org,,,"Lab 2, Group A",
fay,Fay Lo,fay@x.org,,,Group A,
gil,Gil Ray,gil@x.org,,,Group A,
hal,Hal Ito,hal@x.org,,,,
"""
METADATA = """\
submission_101:
  :submitters:
  - :name: Ada Doe
    :email: ada@x.org
  - :name: B. Kis
    :sid: bela
submission_102:
  :submitters:
  - :name: Hal Ito
  - :name: Hal Ito
    :email: hal2@x.org
"""


def matched(folder: Path, *downloads: Path, has_roster: bool = True) -> tuple[list[list[str]], list[str]]:
    """The groups in downloads, and what is printed about the matches."""
    write(folder, {"roster.csv": ROSTER})
    course = made_course(folder / "course", {"sums": {"add": 1}})
    decisions = read_decisions(folder / "roster.csv" if has_roster else None, course)
    came = find_submissions(downloads, course.units, folders=decisions.folders)
    found = hand_ins(came, decisions)
    return sorted(map(sorted, groups(found.of))), described_matches(found, decisions.entries, came)


def test_rows_with_one_folder_or_repository_are_a_group(tmp_path: Path) -> None:
    files = {f"{name}/sums.py": RIGHT for name in ("group 7", "attention-red", "hal")}
    found, printed = matched(tmp_path, write(tmp_path / "class", files))
    assert found == [["ada", "bela"], ["chen", "dina"], ["hal"]]
    assert "Matched by repository: attention-red is chen and dina." in printed


def test_what_is_the_same_in_a_group_is_graded_once() -> None:
    group = []
    for student, text in {"ada": RIGHT, "bela": RIGHT, "chen": WRONG}.items():
        submission = Submission(student, None, {"sums": UnitSubmission(UnitSource("sums.py", (text,)))})
        group.append(StudentWork(student, None, None, [SubmissionWork(submission, {})], ()))
    found = {one.student: [copy.student for copy in one.copies] for one in different(group)}
    assert found == {"ada": ["bela"], "chen": []}


@pytest.mark.parametrize("has_roster", [True, False])
def test_each_submitter_of_gradescope_is_a_student(tmp_path: Path, has_roster: bool) -> None:
    files = {"submission_101/sums.py": RIGHT, "submission_102/sums.py": WRONG, "submission_metadata.yml": METADATA}
    inside = {f"assignment_1_export/{name}": text for name, text in files.items()}
    found, printed = matched(tmp_path, write(tmp_path / "gradescope.zip", zipped(inside)), has_roster=has_roster)
    if has_roster:
        # By address and ID first: the name of one is not the roster's.
        assert found == [["ada", "bela"], ["hal", "hal2-x.org_102"]]
        assert "Matched by ID or address: 2, among them B.-Kis_101 is bela." in printed
        assert "Not in the roster, and graded under their own names: hal2-x.org_102." in printed
    else:
        assert found[0] == ["Ada-Doe_101", "B.-Kis_101"]


def test_moodle_writes_the_groups_name_before_each_members(tmp_path: Path) -> None:
    names = ("Group A-Emil Roe_41", "Group A-Fay Lo_42", "Group A-Gil Ray_43", "Default group-Hal Ito_44")
    files = {f"{name}_assignsubmission_file_/sums.py": RIGHT for name in names}
    found, printed = matched(tmp_path, write(tmp_path / "moodle.zip", zipped(files)))
    assert found == [["emil", "fay", "gil"], ["hal"]]
    assert printed[:2] == ["Roster: 8 students, 4 with a submission here.", "Matched by name: 4."]


def test_a_member_who_also_hands_in_alone_stays_in_the_group(tmp_path: Path) -> None:
    together = write(tmp_path / "monday", {"group 7/sums.py": WRONG})
    alone = write(tmp_path / "friday", {f"{name}/sums.py": RIGHT for name in ("bela", "chen", "hal")})
    assert matched(tmp_path, together, alone)[0] == [["ada", "bela"], ["chen"], ["hal"]]


def test_those_of_a_group_whose_answers_count_are_the_same_are_together(tmp_path: Path) -> None:
    def work(student: str, *answers: str) -> StudentWork:
        candidates = []
        for number, digest in enumerate(answers):
            made = unit({"add": exercise(number)}).model_copy(update={"answers": digest * 64})
            graded = Graded(report({"sums": made}).model_copy(update={"student": student}), {})
            candidates.append(SubmissionWork(Submission(student, None, {}), {}, graded))
        return StudentWork(student, None, None, candidates, ())

    decisions = Decisions(made_course(tmp_path, {"sums": {"add": 1}}))
    found = decided(
        [work("ada", "1"), work("bela", "1", "2"), work("chen", "1", "2"), work("dina", "2", "1")], decisions
    )
    assert {report.student: report.together for _, report in found} == {
        "ada": ["ada", "dina"], "bela": ["bela", "chen"], "chen": ["bela", "chen"], "dina": ["ada", "dina"],
    }  # fmt: skip


def test_a_group_is_in_one_part_of_the_class(tmp_path: Path) -> None:
    write(tmp_path, {"roster.csv": ROSTER})
    course = made_course(tmp_path / "course", {"sums": {"add": 1}})
    download = write(tmp_path / "class", {"group 7/sums.py": RIGHT, "attention-red/sums.py": RIGHT})
    parts = []
    for number in range(1, 8):
        options = (tmp_path / "reports", None, tmp_path / "roster.csv", None, None, course.root, Shard(number, 7))
        parts.append({*prepare([download], *options)[2].found})
    students = [line.partition(",")[0] for line in ROSTER.splitlines()[1:]]
    assert sorted(student for part in parts for student in part) == students
    for group in ({"ada", "bela"}, {"chen", "dina"}):
        assert [len(part & group) for part in parts if part & group] == [2]
