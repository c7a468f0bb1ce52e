"""The leak scan: what it finds in any encoding or archive, and what it accepts."""

from __future__ import annotations

import base64
import gzip
import html
import json
import marshal
import re
import shutil
import textwrap
import zlib
from pathlib import Path
from urllib.parse import quote

import nbformat
import pytest
import yaml
from courses import BUILDABLE, COURSE, REPOSITORY
from downloads import zipped
from local_github import git

from grader.course.build import build
from grader.course.model import load_course
from grader.integrations.release import ReleaseError
from grader.integrations.release.folder_releases import release_gradescope
from grader.integrations.release.leaks import Leak, require_none, revealing_sentences, scan
from grader.integrations.release.secrets import COPIED, Secrets, signs
from grader.integrations.release.wheel import received
from grader.quizzes.items import BugItem, ChoiceItem
from grader.quizzes.practice_items import read_practice, to_json
from grader.quizzes.quiz_source import QuizSource, load_quiz, load_quizzes
from grader.quizzes.sheet import write_sheet

QUIZ = load_quiz(COURSE.solutions / "self_attention_quiz.yml")
[SENTENCE] = [item.choices[0].sentence for name, item in QUIZ.items.items() if name == "a_new_value"]  # type: ignore[union-attr]
EXPLANATION = " ".join(QUIZ.items["nothing_found"].explanation.split())
RIGHT = {
    name: [letter for letter, choice in item.options().items() if choice.right]
    for name, item in QUIZ.items.items()
    if isinstance(item, ChoiceItem)
}
SUITE = (COURSE.suites / "self_attention" / "project_qkv.py").read_text(encoding="utf-8")
[SUITE_LINE, *_] = [line for line in SUITE.splitlines() if line.strip().startswith("expect_close(")]
DOCSTRING = SUITE.partition('"""')[2].partition("\n")[0]
BEGIN, END = "### BEGIN SOLUTION\n", "    ### END SOLUTION"


def solution_of(unit: str, exercise: str) -> str:
    """Return the lines between the markers of an exercise's solution."""
    source = (COURSE.solutions / f"{unit}.py").read_text(encoding="utf-8")
    return source.partition(f"def {exercise}(")[2].partition(BEGIN)[2].partition(END)[0]


SOLUTION = solution_of("self_attention", "scaled_dot_product_attention")


BUGS = {
    name: item
    for quiz in load_quizzes(COURSE.solutions, COURSE.quizzes).values()
    for name, item in quiz.items.items()
    if isinstance(item, BugItem)
}
SHORT = BUGS["two_weights"].lines[BUGS["two_weights"].wrong_line()].fix or ""
KEY = {name: " ".join(answer) for name, answer in RIGHT.items()}


# Secrets of a file of the course, by the place where each is found: the file and perhaps the line.
OF_SOLUTION = {
    "plain/solution.py:3": f"\n\n{SOLUTION}\n",
    "address.md:1": f"https://example.org/#code={quote(SOLUTION)}",
    "indented.py:1": SOLUTION.replace("    ", "\t\t"),
    "returns.txt:2": f"first\r{SOLUTION}\r".replace("\n", "\r"),
    "separators.txt:1": SOLUTION.replace("\n", "\u2028"),
    "page.html:": html.escape(SOLUTION),
    "base64.json:": json.dumps(base64.b64encode(f"1\n{SOLUTION}".encode()).decode()),
    "base64.txt:": base64.encodebytes(f"2\n{SOLUTION}".encode()).decode(),
    "gzip.json:": json.dumps(base64.b64encode(gzip.compress(f"4\n{SOLUTION}".encode())).decode()),
    "zlib.json:": json.dumps(base64.b64encode(zlib.compress(f"5\n{SOLUTION}".encode())).decode()),
    "string.json:": json.dumps({"deep": [{"text": f"Quoted: é\n{SOLUTION}\n"}]}),
    "twice.json:": json.dumps({"text": json.dumps({"text": f"one\n{SOLUTION}\n"})}),
    "literal.py:1": f"text = {SOLUTION!r}\n",
    "notebook.ipynb:": nbformat.writes(
        nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_code_cell(
                    "1 + 1", outputs=[nbformat.v4.new_output("stream", text=f"so\n{SOLUTION}\nit is\n")]
                )
            ]
        )
    ),
}
OF_QUIZ = {
    "plain/sentence.md:1": f"* {SENTENCE}",
    "plain/explanation.txt:1": f"{EXPLANATION}\n",
    "short.md:1": f"Line 3 should be `{SHORT}`.\n",
    "comment.py:1": f"{SHORT}  # the bug was here\n",
    "longer.txt:1": f"before {EXPLANATION} and behind",
    "broken.txt:1": EXPLANATION.replace(" ", "\n    ", 1),
    "comments.py:1": textwrap.indent(textwrap.fill(EXPLANATION, 40), "    # "),
    "quoted.md:1": textwrap.indent(textwrap.fill(EXPLANATION, 41), "> "),
    "list.json:2": json.dumps(textwrap.wrap(EXPLANATION, 42), indent=1),
    "wrapped.ipynb:": nbformat.writes(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(textwrap.fill(EXPLANATION, 43))])
    ),
    "windows.txt:2": f"first\r\n{SENTENCE}\r\nlast\r\n",
    "zero_width.md:1": "\u200b".join(EXPLANATION),
    "soft_hyphens.md:1": "\xad".join(EXPLANATION),
    "full_width.md:1": "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in EXPLANATION),
    "numbered.py:1": "".join(f"\\x{ord(one):02x}" for one in EXPLANATION),
    "urlsafe.json:": json.dumps(base64.urlsafe_b64encode(f"3\n{EXPLANATION}".encode()).decode()),
    "quiz.yml:": (COURSE.solutions / "self_attention_quiz.yml").read_text(encoding="utf-8").partition("items:")[2],
    "key.json:1": json.dumps(KEY),
    "key.csv:1": "".join(f"{name},{answer}\n" for name, answer in KEY.items()),
    "key.md:1": "".join(f"* {name}: the answer is **{answer.upper()}**\n" for name, answer in KEY.items()),
    "filled_in.md:1": write_sheet(QUIZ.questions, None, KEY),
    "key.yml:": yaml.safe_dump({name: {"answer": answer} for name, answer in KEY.items()}),
    "report.json:2": json.dumps({"said": SENTENCE}, indent=1),
    "folded.yml:": yaml.safe_dump({"text": f"It's so: {SENTENCE}"}, width=40),
    "cell.ipynb:": nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(EXPLANATION)])),
}
OF_SUITE = {
    "renamed/notes.txt:": f"# One line more.\n{SUITE}",
    "one_line.md:1": f"Look: {SUITE_LINE}",
    "docstring.md:1": f"* {DOCSTRING}\n",
    "quotes.py:1": SUITE_LINE.replace('"', "'"),
}
IN_ARCHIVES = ("x.whl: grader/a.py:12", "loose/.git: blob ", "packed/.git: blob ", "message/.git: commit ")


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--allow-empty", "--message", message)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one secret in each file, each in another encoding or archive."""
    folder = tmp_path_factory.mktemp("planted")
    texts = {place.partition(":")[0]: text for place, text in (OF_SOLUTION | OF_QUIZ | OF_SUITE).items()}
    texts |= {f"fixed/{name}.py": item.program(fixed=True) for name, item in BUGS.items()}
    texts["grader/suites/harmless.py"] = "print('hello')\n"
    choices = QUIZ.items["from_text_to_text"]
    assert isinstance(choices, ChoiceItem)
    texts |= {
        "innocent/quiz.md": f"{choices.question}\n{choices.choices[0].text}\n",
        "innocent/stub.py": (REPOSITORY / "exercises" / "simple_attention.py").read_text(encoding="utf-8"),
        "innocent/imports.py": "from grader.testing.misconceptions import misconception\n",
        "innocent/test.py": (REPOSITORY / "exercises" / "checks" / "test_self_attention.py").read_text(
            encoding="utf-8"
        ),
        "innocent/sheet.md": write_sheet(QUIZ.questions, None, dict(list(KEY.items())[:2])),
        "innocent/points.json": json.dumps({name: item.points for name, item in QUIZ.items.items()}),
        "innocent/two.json": json.dumps(dict(list(KEY.items())[:2])),
        "innocent/ruler.py": f"# {'-' * 110}\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    packed = zipped({"grader/a.py": "\n" * 11 + EXPLANATION, "grader/audit/c.py": "print('hello')\n"})
    (folder / "x.whl").write_bytes(packed)

    for name in ("loose", "packed"):
        repository = folder / name
        repository.mkdir()
        git(repository, "init")
        (repository / "a.py").write_text(f"{EXPLANATION}  # in {name}\n", encoding="utf-8")
        (repository / "b.py").write_text(SUITE + f"# in {name}", encoding="utf-8")
        commit(repository, "One")
        (repository / "a.py").unlink()
        commit(repository, "Two")
        if name == "packed":
            git(repository, "gc", "--prune=now")
    message = folder / "message"
    message.mkdir()
    git(message, "init")
    commit(message, f"I say: {EXPLANATION}")
    return folder


@pytest.fixture(scope="module")
def found(planted: Path) -> list[Leak]:
    return scan(planted, COURSE)


def test_a_secret_is_found_in_every_wrapping(found: list[Leak]) -> None:
    origins = {
        **dict.fromkeys(OF_SOLUTION, "solutions/self_attention.py:"),
        **dict.fromkeys([*OF_QUIZ, *IN_ARCHIVES], "solutions/self_attention_quiz.yml"),
        **dict.fromkeys(OF_SUITE, "grader/suites/self_attention/project_qkv.py:"),
        **{f"fixed/{name}.py:": "solutions/" for name in BUGS},
        "grader/suites/harmless.py": "grader/suites/",
        "x.whl: grader/audit/c.py": "grader/audit/",
    }
    missed = [
        place
        for place, origin in origins.items()
        if not any(leak.place.startswith(place) and leak.origin.startswith(origin) for leak in found)
    ]
    assert missed == []


def test_no_secret_is_printed(found: list[Leak]) -> None:
    told = "\n".join(map(str, found))
    assert not [secret for secret in (SOLUTION, SENTENCE, EXPLANATION) if secret in told]


def test_what_students_always_receive_is_not_a_secret(found: list[Leak]) -> None:
    assert not [leak for leak in found if leak.place.startswith("innocent/")]


def test_a_folder_with_a_secret_in_it_is_refused_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"\n{EXPLANATION}\n", encoding="utf-8")
    problem = (
        r"1 secret of the course, so nothing was written\. a\.txt:2: this is also in solutions/self_attention_quiz"
    )
    with pytest.raises(ReleaseError, match=problem):
        require_none(tmp_path, COURSE)


def test_secrets_are_named_in_the_order_of_the_places(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{EXPLANATION} {name}", encoding="utf-8")
    assert [leak.place for leak in scan(tmp_path, COURSE)] == ["a.txt:1", "b.txt:1"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((f"{encoding}.txt", SOLUTION.encode(encoding)) for encoding in ("utf-16", "utf-16-le", "utf-32-be")),
        ("test_self_attention.pyc", marshal.dumps(compile(SUITE, "test.py", "exec"))),
        ("disguised.txt", marshal.dumps(compile(SUITE, "test.py", "exec"))),
        ("notes.txt.gz", gzip.compress(SOLUTION.encode())),
        ("notes.txt", gzip.compress(SOLUTION.encode())),
        ("all.zip", zipped({"a.py": "1\n"})),
        ("key.pkl", b"text"),
        ("x.whl: a.bin", zipped({"a.bin": b"\0"})),
        ("x.whl: all.zip", zipped({"all.zip": zipped({"a.py": "1\n"})})),
        ("bomb.whl", zipped({"a.txt": bytes(2**25 + 1)})),
        ("broken.whl", b"text"),
    ],
)
def test_a_file_that_cannot_be_searched_is_refused_by_name(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / name.partition(":")[0]).write_bytes(content)
    with pytest.raises(ReleaseError, match=rf"would hold course/{re.escape(name)}, so nothing was written.*UTF-8"):
        require_none(tmp_path, COURSE)


def test_a_link_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "notes.md").symlink_to(COURSE.solutions / "self_attention_quiz.yml")
    with pytest.raises(ReleaseError, match=r"would hold notes\.md"):
        require_none(tmp_path, COURSE)


def test_a_binary_file_in_an_earlier_commit_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init")
    (tmp_path / "a.txt").write_bytes(SOLUTION.encode("utf-16"))
    commit(tmp_path, "One")
    (tmp_path / "a.txt").unlink()
    commit(tmp_path, "Two")
    with pytest.raises(ReleaseError, match=r"would hold \.git: blob \w+"):
        require_none(tmp_path, COURSE)


def test_lines_that_visible_tests_share_with_hidden_ones_are_no_secret_unless_many_follow_each_other(
    own_small_course: Path, tmp_path: Path
) -> None:
    lines = [f"    assert total([{number}, {number}]) == {2 * number}" for number in range(100, 100 + COPIED)]
    hidden = own_small_course / "suites" / "sums" / "add.py"
    hidden.write_text("\n".join(lines), encoding="utf-8")
    visible = own_small_course / "exercises" / "checks" / "test_sums.py"
    folder = tmp_path / "released"
    folder.mkdir()
    commented = [f"# {line}" for line in lines]
    in_a_list = ["", json.dumps(["", *lines, ""])]
    for shared, number in ((lines[1:], None), (lines, COPIED), (commented, COPIED), (in_a_list, COPIED + 2)):
        places = [f"test_sums.py:{number}"] if number else []
        visible.write_text("\n".join(shared), encoding="utf-8")
        shutil.copy(visible, folder)
        assert [leak.place for leak in scan(folder, load_course(own_small_course))] == places


def test_a_key_is_found_if_quizzes_share_names_and_no_sheet_is_one(
    own_small_course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = "  q{}:\n    kind: true_false\n    points: 1\n    question: So?\n    explanation: Yes.\n    choices:\n"
    quizzes, keys = {}, {}
    for unit, right in (("sums", "true"), ("others", "false")):
        choices = "".join(
            f'      - {{text: "{one}", sentence: "So {one}.", right: {str(one == right).lower()}}}\n'
            for one in ("true", "false")
        )
        items = "".join(item.format(number) + choices for number in range(3))
        path = own_small_course / "solutions" / f"{unit}_quiz.yml"
        path.write_text(f"title: {unit}\nitems:\n{items}", encoding="utf-8")
        quizzes[unit], keys[unit] = load_quiz(path), "".join(f"q{number}: {right}\n" for number in range(3))
    monkeypatch.setattr("grader.integrations.release.secrets.load_quizzes", lambda *_: quizzes)
    secrets = Secrets(load_course(own_small_course))
    for unit, key in keys.items():
        assert [origin for _, origin in secrets.find(key)] == [f"solutions/{unit}_quiz.yml"]
        assert not list(secrets.find(write_sheet(quizzes[unit].questions, None, {})))


def test_the_sentence_of_a_hidden_test_is_a_secret_only_alone_and_an_import_is_none(
    own_small_course: Path, tmp_path: Path
) -> None:
    hidden = own_small_course / "suites" / "sums" / "add.py"
    hidden.write_text(
        'import torch.testing as t\ndef test_it():\n    """The sum\n    should be the number zero, as always."""\n',
        encoding="utf-8",
    )
    folder = tmp_path / "released"
    folder.mkdir()
    alone = "should be the number zero, as always."
    text = f"import torch.testing as t\nIt {alone} So it is.\n{alone}\n"
    (folder / "README.md").write_text(text, encoding="utf-8")
    assert [leak.place for leak in scan(folder, load_course(own_small_course))] == ["README.md:3"]


def test_another_file_in_exercises_is_refused_by_name(own_small_course: Path) -> None:
    (own_small_course / "exercises" / "helpers.py").touch()
    with pytest.raises(ReleaseError, match=r"exercises/helpers\.py is of no unit that autograder\.yml lists"):
        received(load_course(own_small_course))


@pytest.mark.parametrize("name", ["notes.md", "sums.py"])
def test_a_link_in_exercises_is_refused_and_a_hidden_file_is_left_out(name: str, own_small_course: Path) -> None:
    course = load_course(own_small_course)
    (course.exercises / ".notes.md").touch()
    assert ".notes.md" not in received(course)
    (course.exercises / name).unlink(missing_ok=True)
    (course.exercises / name).symlink_to(course.root / "autograder.yml")
    with pytest.raises(ReleaseError, match=rf"exercises/{re.escape(name)} is a link or a folder"):
        received(course)


@pytest.mark.parametrize("folder", ["solutions", "exercises"])
def test_another_file_in_a_bundle_for_instructors_is_refused_by_name(
    folder: str, own_small_course: Path, tmp_path: Path
) -> None:
    (own_small_course / "solutions" / "sums.py").write_text(BUILDABLE, encoding="utf-8")
    course = load_course(own_small_course)
    build(course)
    (own_small_course / folder / "roster.csv").touch()
    with pytest.raises(ReleaseError, match=rf"{folder}/roster\.csv is of no type that a course or the grader has"):
        release_gradescope(tmp_path / "autograder", course)
    assert not (tmp_path / "autograder").exists()


def test_the_explanation_of_a_graded_item_in_a_practice_item_is_a_leak(tmp_path: Path) -> None:
    practice = read_practice(COURSE.checks / "practice.json")["self_attention"]
    item = practice.items["only_one_key"].model_copy(update={"explanation": EXPLANATION})
    (tmp_path / "practice.json").write_text(to_json([practice]), encoding="utf-8")
    (tmp_path / "graded.json").write_text(to_json([QuizSource("u", "t", {"only_one_key": item})]), encoding="utf-8")
    found = {(leak.place.partition(":")[0], leak.origin) for leak in scan(tmp_path, COURSE)}
    assert found == {("graded.json", "solutions/self_attention_quiz.yml")}


def test_the_secrets_are_all_solutions_and_answers() -> None:
    secrets = Secrets(COURSE).solutions
    origins = set(secrets.values())
    assert {f"solutions/{unit}_quiz.yml" for unit in COURSE.quizzes} <= origins
    # A solution of one short line occurs in any program.
    of_units = {origin.partition(":")[0] for origin in origins}
    assert {f"solutions/{unit}.py" for unit in COURSE.units} <= of_units
    assert signs(SOLUTION) in secrets


def test_no_sentence_of_a_misconception_has_code_of_a_solution() -> None:
    assert [str(leak) for leak in revealing_sentences(COURSE)] == []


@pytest.mark.parametrize(
    ("sentence", "refused"),
    [
        ("Add: `a + b`.", True),
        ("Add: `a+b`.", True),
        ("Write `total = max(a + b, 0)`.", True),
        ("`a` and `self.factor` are numbers, `/` divides and `a - b` subtracts.", False),
        ("Scale with `self.factor * x`, as the docstring says.", False),
    ],
)
def test_a_sentence_with_code_that_the_stub_does_not_have_is_refused_with_its_line(
    sentence: str, refused: bool, own_small_course: Path, tmp_path: Path
) -> None:
    solution = BUILDABLE.replace("Scale by a factor.", "Return `self.factor*x`.")
    (own_small_course / "solutions" / "sums.py").write_text(solution, encoding="utf-8")
    change = 'mistake("subtracts", replace("a + b", "a - b"),'
    suite = f'MISCONCEPTIONS = [\n    {change}\n        "{sentence}"),\n]\n'
    (own_small_course / "suites" / "sums" / "add.py").write_text(suite, encoding="utf-8")
    line = solution.splitlines().index("    return a + b") + 1
    leak = Leak("suites/sums/add.py:3", f"solutions/sums.py:{line}")
    course = load_course(own_small_course)
    assert revealing_sentences(course) == ([leak] if refused else [])
    if refused:
        with pytest.raises(ReleaseError, match=r"add\.py:3: this is also in solutions/sums\.py"):
            require_none(tmp_path / "empty", course)


def test_hints_are_public_and_with_them_only_what_they_quote(own_small_course: Path, tmp_path: Path) -> None:
    quoted, secret = "the_first_of_both_steps = a", "the_second_of_both_steps = b"
    hints = f'# %% [markdown] tags=["hints"]\n# 1. Two steps.\n# 2. 1 and 2 give 3.\n# 3. Begin with `{quoted}`.\n'
    end = "    ### END SOLUTION\n"
    source = BUILDABLE.replace("    return a + b\n", f"    {quoted}\n    {secret}\n    return a + b\n")
    (own_small_course / "solutions" / "sums.py").write_text(
        source.replace(end, f"{end}\n\n{hints}", 1), encoding="utf-8"
    )
    course = load_course(own_small_course)
    build(course)
    folder = tmp_path / "released"
    folder.mkdir()
    shutil.copy(course.checks / "hints.json", folder)
    assert scan(folder, course) == []
    (folder / "notes.txt").write_text(f"{quoted}\n{secret}\n", encoding="utf-8")
    assert {leak.place for leak in scan(folder, course)} == {"notes.txt:2"}
