"""What a checkout does not commit is built where it is missing, changed or older than its sources, and only there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import courses
import pytest
from courses import COURSE, LONG_PAST

from grader.course.generated import FILES, STAMP
from grader.course.guidance import read_rules
from grader.course.model import load_course
from grader.errors import GraderError
from grader.integrations.release.wheel import received

VISIBLE = '''\
import pytest


@pytest.mark.example("add", rule="add adds")
def test_sum(student):
    """The sum of two numbers."""
    assert student.add(1, 2) == 3
'''


@pytest.fixture
def root(own_small_course: Path) -> Path:
    """A small course with a visible test, for which all was built."""
    source = own_small_course / "solutions" / "sums.py"
    source.write_text(f"# %%\n{source.read_text(encoding='utf-8')}", encoding="utf-8")
    (own_small_course / "exercises" / "checks" / "test_sums.py").write_text(VISIBLE, encoding="utf-8")
    _ = load_course(own_small_course).checks
    return own_small_course


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def edit(path: Path, old: str, new: str) -> Callable[[Path], None]:
    return lambda root: courses.replace(root / path, old, new)


def test_this_course_has_all_of_the_files_and_students_receive_them() -> None:
    assert COURSE.checks.is_dir()
    assert {f"checks/{name}" for name in FILES} <= received(COURSE).keys()
    assert not {name for name in received(COURSE) if STAMP in name}


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "exercises" / "checks" / "rules.json").unlink(),
        edit(Path("exercises/checks/rules.json"), "add adds", "add subtracts"),
        edit(Path("solutions/sums_quiz.yml"), "Quiz 1: sums", "Quiz 1: more sums"),
        edit(Path("suites/sums/Scale.py"), "Scale scales", "Scale multiplies"),
        edit(Path("exercises/checks/test_sums.py"), ', rule="add adds"', ""),
        edit(Path("autograder.yml"), "      Scale: 1\n", ""),
    ],
    ids=["missing", "changed", "quiz", "hidden test", "visible test", "exercises"],
)
def test_what_is_missing_changed_or_outdated_is_built_before_it_is_read(
    root: Path, change: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    change(root)
    anew = shutil.copytree(root, root.with_name("anew"))
    for name in (*FILES, STAMP):
        (anew / "exercises" / "checks" / name).unlink(missing_ok=True)
    assert contents(load_course(root).checks) == contents(load_course(anew).checks)
    assert capsys.readouterr().err.count("Building the data in") == 2


def test_what_changes_none_of_them_builds_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    courses.set_due(root, LONG_PAST)
    shutil.copytree(root, root.with_name("elsewhere"))
    capsys.readouterr()
    for place in (root, root.with_name("elsewhere")):
        assert load_course(place).checks == place / "exercises" / "checks"
    assert capsys.readouterr().err == ""


def test_students_have_the_files_without_sources_and_nothing_is_built(root: Path) -> None:
    shutil.rmtree(root / "solutions")
    shutil.rmtree(root / "suites")
    (root / "exercises" / "checks" / STAMP).unlink()
    assert read_rules(load_course(root))["sums"]["add"] == {"add adds": True}
    assert not (root / "exercises" / "checks" / STAMP).exists()


def test_of_two_commands_at_once_one_builds_and_both_read_the_whole(root: Path) -> None:
    courses.replace(root / "solutions" / "sums_quiz.yml", "Quiz 1: sums", "Quiz 1: more sums")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: courses.run_grader(root, "practice", "sums"), range(2)))
    assert sorted("Building" in one.stderr for one in done) == [False, True]
    assert [one.stderr.splitlines()[-1] for one in done] == ["There is nothing to practise for 'sums'."] * 2
    assert load_course(root).generated.are_up_to_date()


def test_the_same_sources_give_the_same_bytes(root: Path) -> None:
    folder = root / "exercises" / "checks"
    first = contents(folder)
    for path in folder.glob("*.json"):
        path.unlink()
    _ = load_course(root).checks
    assert contents(folder) == first


def test_each_item_has_a_line(root: Path) -> None:
    folder = root / "exercises" / "checks"
    quiz = json.loads((folder / "quizzes.json").read_bytes())["quizzes"][0]
    lines = (folder / "quizzes.json").read_text(encoding="utf-8").splitlines()
    assert [line.partition('"')[2].partition('"')[0] for line in lines if '"kind"' in line] == list(quiz["items"])


def test_a_source_that_is_wrong_is_named_and_fixing_it_is_enough(root: Path) -> None:
    test = root / "exercises" / "checks" / "test_sums.py"
    courses.replace(test, "== 3", "== 4")
    with pytest.raises(GraderError, match=r"exercises/checks/test_sums\.py:7: .*correct the test sum"):
        read_rules(load_course(root))
    courses.replace(test, "== 4", "== 3")
    assert read_rules(load_course(root))


def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(root: Path) -> None:
    shutil.rmtree(root / "build")
    (root / "build").touch()
    (root / "exercises" / "checks" / STAMP).unlink()
    with pytest.raises(GraderError, match=r"exercises/checks is outdated and cannot be written: .*build"):
        read_rules(load_course(root))


def test_tests_beside_the_stubs_as_in_earlier_courses_are_refused_with_what_to_do(root: Path) -> None:
    checks = root / "exercises" / "checks"
    (checks / "test_sums.py").rename(root / "exercises" / "test_sums.py")
    shutil.rmtree(checks)
    with pytest.raises(GraderError, match=r"test_sums\.py: visible tests are in .*checks now: move them there"):
        read_rules(load_course(root))


def test_an_earlier_release_named_as_the_course_is_refused_with_what_to_run(root: Path) -> None:
    for folder in ("solutions", "suites", "exercises/checks"):
        shutil.rmtree(root / folder)
    with pytest.raises(GraderError, match=r"is from an earlier release: run `pip install -r requirements\.txt`"):
        read_rules(load_course(root))
