"""Groups: a submission of several students is graded once, and each of them has a report of their own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import courses
import pytest
from downloads import write, zipped

RIGHT = courses.SMALL_COURSE["solutions/sums.py"]
WRONG = RIGHT.replace("a + b", "a - b")
# What two runs of the same code print differs.
PRINTS = f"{RIGHT}\nimport time\n\nprint(time.perf_counter_ns())\n"
RULES = "late:\n  percent_per_day: 10\n  most_percent: 50\n  counts: best\n"
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
TIMES = "student,unit,time\n" + "".join(f"{name},sums,2000-01-02T12:00:00Z\n" for name in ("ada", "bela", "hal"))
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


class Term:
    """A course, its roster, and the commands on a download."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        courses.set_due(root, courses.LONG_PAST)
        settings = root / "autograder.yml"
        settings.write_text(settings.read_text(encoding="utf-8").replace("units:", f"{RULES}units:"), encoding="utf-8")
        write(folder, {"roster.csv": ROSTER, "times.csv": TIMES})

    def run(self, command: str, *more: object, roster: bool = True) -> subprocess.CompletedProcess[str]:
        options = ["--roster", self.folder / "roster.csv"] if roster else []
        return courses.run_grader(self.root, command, *more, "--out", self.folder / "reports", *options)

    def reports(self) -> dict[str, dict[str, Any]]:
        return courses.read_reports(self.folder / "reports")

    def together(self) -> dict[str, list[str]]:
        return {student: report["together"] for student, report in self.reports().items() if report["together"]}

    def printed(self, *students: str) -> int:
        """How often the code of these students was run, by what it printed."""
        reports = self.reports()
        return len({message["text"] for student in students for message in reports[student]["messages"]})


@pytest.fixture
def term(own_small_course: Path, tmp_path: Path) -> Term:
    return Term(own_small_course, tmp_path / "term")


def test_rows_with_one_folder_or_repository_get_a_report_each_from_one_run(term: Term) -> None:
    download = write(
        term.folder / "class",
        {
            "group 7/sums.py": PRINTS,
            "attention-red-main/sums.py": PRINTS.replace("a + b", "b + a"),
            "hal/sums.py": PRINTS,
        },
    )
    (download / "attention-red-main").rename(download / "attention-red")
    done = term.run("grade", download)
    assert done.returncode == 0, done.stderr
    assert "Matched by repository: attention-red is chen and dina." in done.stdout
    assert "Handed in together: ada and bela; chen and dina." in done.stdout
    red, seven = ["chen", "dina"], ["ada", "bela"]
    assert term.together() == {"ada": seven, "bela": seven, "chen": red, "dina": red}
    assert [term.printed(*group) for group in (seven, red, ["ada", "hal"])] == [1, 1, 2]
    units = {student: report["units"]["sums"] for student, report in term.reports().items()}
    # Each member has an own extension and exemption: two days late, in time, and one who is exempt.
    assert [(units[one]["points"], units[one]["extended"]) for one in seven] == [(4, False), (5, True)]
    assert [units[one]["exempt"] for one in red] == [False, True]


def test_a_group_is_graded_again_only_if_something_changes(term: Term) -> None:
    download = write(term.folder / "class", {"group 7/sums.py": RIGHT, "hal/sums.py": RIGHT})
    (term.folder / "roster.csv").write_text(ROSTER.replace("bela@x.org,group 7", "bela@x.org,"), encoding="utf-8")
    term.run("grade", download)
    assert term.together() == {}
    # A new member changes the reports of the others, and runs nothing of theirs.
    (term.folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    done = term.run("grade", download)
    assert term.together() == {"ada": ["ada", "bela"], "bela": ["ada", "bela"]}
    assert "1 report has new dates, adjustments or groups" in done.stdout
    assert re.findall(r"graded (\w+) ", done.stderr) == ["bela"]
    assert "8 of 8 reports are up to date" in term.run("grade", download).stdout


@pytest.mark.parametrize("roster", [True, False])
def test_each_submitter_of_gradescope_is_a_student(term: Term, roster: bool) -> None:
    files = {"submission_101/sums.py": PRINTS, "submission_102/sums.py": WRONG, "submission_metadata.yml": METADATA}
    download = write(
        term.folder / "gradescope.zip", zipped({f"assignment_1_export/{name}": files[name] for name in files})
    )
    done = term.run("grade", download, roster=roster)
    assert done.returncode == 0, done.stderr
    if roster:
        # By address and ID first: the name of one is not the roster's.
        expected = {"ada", "bela"}
        assert "Matched by ID or address: 2, among them B.-Kis_101 is bela." in done.stdout
        assert "Not in the roster, and graded under their own names: hal2-x.org_102." in done.stdout
    else:
        expected = {"Ada-Doe_101", "B.-Kis_101"}
    assert set(term.together()["ada" if roster else "Ada-Doe_101"]) == expected
    assert term.printed(*expected) == 1


def test_moodle_writes_the_groups_name_before_each_members(term: Term) -> None:
    names = {
        "Group A-Emil Roe_41": RIGHT,
        "Group A-Fay Lo_42": RIGHT,
        "Group A-Gil Ray_43": WRONG,
        "Default group-Hal Ito_44": RIGHT,
    }
    files = {f"{name}_assignsubmission_file_/sums.py": text for name, text in names.items()}
    done = term.run("grade", write(term.folder / "moodle.zip", zipped(files)))
    assert "Roster: 8 students, 4 with a submission here.\nMatched by name: 4.\n" in done.stdout
    # Gil's file is another one, so it is not the group's.
    assert term.together() == {"emil": ["emil", "fay"], "fay": ["emil", "fay"]}


def test_of_several_each_members_best_counts(term: Term) -> None:
    together = write(term.folder / "monday", {"group 7/sums.py": WRONG, "chen/sums.py": WRONG})
    alone = write(term.folder / "friday", {f"{name}/sums.py": RIGHT for name in ("bela", "chen", "dina", "hal")})
    done = term.run("grade", together, alone)
    assert done.returncode == 0, done.stderr
    points = {student: report["units"]["sums"]["earned"] for student, report in term.reports().items()}
    assert (points["ada"], points["bela"]) == (1, 5)
    # As `grader collect` writes it: a folder for each member. What counts of chen is the same as of dina.
    assert term.together() == {"chen": ["chen", "dina"], "dina": ["chen", "dina"]}


def test_a_group_is_in_one_part_of_the_class(term: Term) -> None:
    download = write(term.folder / "class", {"group 7/sums.py": RIGHT, "attention-red/sums.py": RIGHT})
    parts = [term.run("grade", download, "--shard", f"{number}/7").stdout for number in range(1, 8)]
    counts = [int(found[1]) for part in parts if (found := re.search(r"Part \d of 7: (\d+) students", part))]
    assert sum(counts) == len(term.reports()) == 8
    assert term.together().keys() == {"ada", "bela", "chen", "dina"}
    assert sum("Handed in together: ada and bela" in part for part in parts) == 1
