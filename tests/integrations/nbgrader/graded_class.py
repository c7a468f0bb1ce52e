"""The term of a small course in nbgrader that the tests here share: a class is released, graded and reported once.

It hands in around the change to summer time, with extensions, adjustments and exemptions, mistakes and damages.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

import courses
from damages import DAMAGES, hand_in_damaged
from handed_in import read_notebook, solved
from terms import Term, hand_in_solved, make_small_term

from grader.submissions.submission import student_id

# The night that follows has 23 hours: clocks go forward at 02:00.
DUE = "2025-03-29T23:59:00+01:00"
RULES = "late:\n  grace_minutes: 10\n  percent_per_day: 10\n  most_percent: 50\n"
ROSTER = """\
student,name,email,folder,sums
ada,"Doe, Ada",ada@x.org,,
bob,Bob Roe,bob@x.org,,
cyd,Cyd Ny,cyd@x.org,,
dan,=1+1,dan@x.org,,
eve,Eve Li,eve@x.org,,2025-05-05T23:59:00+02:00
fay,Fay Wu,fay@x.org,,2025-05-05T23:59:00+02:00
gus,Gus Xu,gus@x.org,,
hal,Hal Yi,hal@x.org,,exempt
ida,Ida Ko,ida@x.org,,
jdoe,Jane Doe,jane@x.org,Jane Doe,
leo,Leo Ho,leo@x.org,,2100-01-01T00:00:00+00:00
max,Max Lo,max@x.org,,2100-01-01T00:00:00+00:00
mia,Mia Ek,mia@x.org,,
"""
ADJUSTMENTS = """\
student,unit,exercise,points,comment,by
gus,sums,,2.1,The network was down.,Ms Roe
gus,sums,Scale,-0.3,Shown by a friend.,Ms Roe
mia,sums,add,0.7,A good question.,Ms Roe
"""
# When students handed in: 23 hours late, half an hour later, a full day and a second late, and so on.
HANDED_IN = {
    "ada": "2025-03-29 23:09:00 +0000",  # in the grace period
    "bob": "2025-03-30 21:59:00.700000 UTC",
    "cyd": "2025-03-31 00:29:00 Europe/Berlin",
    "dan": "2025-03-30 22:59:01 UTC",
    "eve": "2025-05-06 12:00:00 UTC",  # without the extension, half of the points
    "fay": "2025-09-01 12:00:00 UTC",
    "gus": "2025-03-30 21:59:00 UTC",
    "hal": "2025-03-29 12:00:00 UTC",
    "Jane Doe": "2025-03-29 12:00:00 UTC",
    "leo": "2025-09-01 12:00:00 UTC",
    "max": "2025-09-01 12:00:00 UTC",
    "mia": "2025-03-29 12:00:00 UTC",
}
SUBTRACTED = "def add(a, b):\n    return a - b\n"
ADD_AND_TALK = """\
import json, sys

def add(a, b):
    print(json.dumps({"output_type": "execute_result", "data": {"text/plain": "4"}}))
    print("</pre><script>document.title = 100</script>")
    print("4", file=sys.stderr)
    return a + b
"""
SCALE_BY_MORE = """\
class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(float(factor)))

    def forward(self, x):
        return (self.factor + 1) * x
"""
MISTAKES = {
    "Jane Doe": {"add": SUBTRACTED},
    "max": {"add": SUBTRACTED},
    "bela": {"add": SUBTRACTED, "quiz_is_larger": "answer_3 = True"},
    "Emil Ångström": {"Scale": "class Scale(nn.Module:\n    pass\n", "quiz_is_larger": 'answer_3 = "no idea"'},
    "mallory": {"add": ADD_AND_TALK, "Scale": SCALE_BY_MORE, "imports": "import torch\nprint('at the top')\n"},
}
STUDENTS = [*HANDED_IN, *(name for name in MISTAKES if name not in HANDED_IN), *DAMAGES]


class GradedTerm(NamedTuple):
    """The term after autograde, and `grader grade`'s reports on the same submissions."""

    term: Term
    reports: dict[str, Any]

    def points(self, student: str) -> dict[str, float | None]:
        """The points in a student's report, by the name of the test cell."""
        name = "jdoe" if student == "Jane Doe" else student_id(student)
        unit = self.reports[name]["units"]["sums"]
        points = {f"test_{exercise}": found["points"] for exercise, found in unit["exercises"].items()}
        return points | {f"test_quiz_{item}": found["points"] for item, found in unit["quiz"]["items"].items()}


def make_graded_term(root: Path) -> GradedTerm:
    term = make_small_term(root, DUE, RULES)
    for student in STUDENTS:
        if student not in DAMAGES:
            submission = hand_in_solved(term, student, MISTAKES.get(student, {}))
            if student in HANDED_IN:
                (submission / "timestamp.txt").write_text(HANDED_IN[student], encoding="utf-8")
    term.nbgrader("generate_assignment sums")
    right = solved(read_notebook(term.source), read_notebook(term.folder / "release" / "sums" / "sums.ipynb"))
    for name in DAMAGES:
        hand_in_damaged(term.folder / "submitted" / name / "sums", name, copy.deepcopy(right))
    (term.folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (term.folder / "adjustments.csv").write_text(ADJUSTMENTS, encoding="utf-8")
    log = term.nbgrader("autograde sums")
    done = courses.run_grader(
        term.root, "grade", "term/submitted", "--out", term.root / "reports", "--roster", "term/roster.csv"
    )
    assert done.returncode == 0, done.stderr
    return GradedTerm(Term(term.root, log), courses.read_reports(term.root / "reports"))
