"""The leak scan: what it finds in whatever wrapping, and what it leaves alone."""

from __future__ import annotations

import io
import json
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

import nbformat
import pytest
import yaml
from courses import REPOSITORY

from grader.integrations.github.release import release_github
from grader.integrations.release import ReleaseError
from grader.integrations.release.leaks import Leak, require_none, scan, secrets
from grader.quizzes.items import ChoiceItem
from grader.quizzes.source import load_quiz
from grader.testing.misconceptions import build, misconceptions_of

SUITES = REPOSITORY / "grader" / "suites"
SOLUTIONS = REPOSITORY / "solutions"
QUIZ = load_quiz(SOLUTIONS / "self_attention_quiz.yml")


def longest_line(path: Path, containing: str) -> str:
    return max((line.strip() for line in path.read_text(encoding="utf-8").splitlines() if containing in line), key=len)


TEST = longest_line(SUITES / "self_attention" / "test_self_attention.py", "expect_close(")
MISTAKE = longest_line(SUITES / "bigram_language_model" / "misconceptions.py", "return ")
RIGHT = longest_line(SUITES / "simple_attention" / "accepted_answers" / "by_hand.py", "return ")
ORACLE = longest_line(SUITES / "causal.py", "return ")
SUBSTITUTE = longest_line(SUITES / "multi_head_attention" / "substitutes.py", "return ")
SOLUTION = longest_line(SOLUTIONS / "causal_attention.py", "return torch.")
VARIANT = longest_line(SOLUTIONS / "self_attention_quiz.yml", "answer:")
[SENTENCE] = [item.choices[0].sentence for name, item in QUIZ.items.items() if name == "a_new_value"]  # type: ignore[union-attr]
build(["simple_attention"])
TOLD = misconceptions_of("simple_attention")[0].sentence
EXPLANATION = QUIZ.items["nothing_found"].explanation.splitlines()[0]


def archive(files: Mapping[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content)
    return packed.getvalue()


def git(folder: Path, *arguments: str) -> None:
    author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--allow-empty", "--message", message)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one secret in each file, each in a wrapping of its own."""
    folder = tmp_path_factory.mktemp("planted")
    texts: dict[str, str] = {
        "plain/test.py": f"\n\n{TEST}\n",
        "plain/mistake.py": f"def f(x):\n    {MISTAKE}\n",
        "plain/right.py": RIGHT,
        "plain/oracle.py": ORACLE,
        "plain/substitute.py": SUBSTITUTE,
        "plain/solution.py": SOLUTION,
        "plain/sentence.md": f"* {SENTENCE}",
        "plain/explanation.txt": EXPLANATION,
        "plain/variant.json": VARIANT,
        "indented.py": f"class A:\n\tdef b(self):\n\t\t{TEST.replace(' ', '   ')}\n",
        "longer.txt": f"before {TEST} and behind",
        "broken.txt": TEST.replace(" ", "\n    ", 1),
        "windows.txt": f"first\r\n{TEST}\r\nlast\r\n",
        "string.json": json.dumps({"deep": [{"text": f"Quoted: é\n{TEST}\n"}]}),
        "twice.json": json.dumps({"text": json.dumps({"text": f"one\n{TEST}\n"})}),
        "report.json": json.dumps({"said": SENTENCE}, indent=1),
        "folded.yml": yaml.safe_dump({"text": f"It's so: {SENTENCE}"}, width=40),
        "literal.py": f"text = {TEST!r}\n",
        "notebook.ipynb": nbformat.writes(
            nbformat.v4.new_notebook(
                cells=[
                    nbformat.v4.new_code_cell(
                        "1 + 1", outputs=[nbformat.v4.new_output("stream", text=f"so\n{MISTAKE}\nit is\n")]
                    )
                ]
            )
        ),
        "cell.ipynb": nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(EXPLANATION)])),
    }
    choices = QUIZ.items["from_text_to_text"]
    assert isinstance(choices, ChoiceItem)
    texts |= {
        "innocent/quiz.md": f"{choices.question}\n{choices.choices[0].text}\n",
        "innocent/stub.py": (REPOSITORY / "exercises" / "simple_attention.py").read_text(encoding="utf-8"),
        "innocent/imports.py": "from grader.testing.misconceptions import misconception\n",
        "innocent/ruler.py": f"# {'-' * 110}\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    wheel = archive({"grader/a.py": "\n" * 11 + TEST, "grader/harmless.py": "print('hello')\n"})
    (folder / "x.whl").write_bytes(wheel)
    nested = archive({"grader/b.py": f"{TEST}  # nested"})
    (folder / "all.zip").write_bytes(archive({"course/x.whl": nested}))

    for name in ("loose", "packed"):
        repository = folder / name
        repository.mkdir()
        git(repository, "init")
        (repository / "a.py").write_text(f"{TEST}  # in {name}\n", encoding="utf-8")
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
    return scan(planted)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that students of this course receive. Nothing may be written there."""
    folder = tmp_path_factory.mktemp("github") / "attention"
    release_github(folder)
    return folder


@pytest.mark.parametrize(
    ("place", "origin"),
    [
        ("plain/test.py:3", "grader/suites/self_attention/test_self_attention.py"),
        ("plain/mistake.py:2", "grader/suites/bigram_language_model/misconceptions.py"),
        ("plain/right.py:1", "grader/suites/"),
        ("plain/oracle.py:1", "grader/suites/causal.py"),
        ("plain/substitute.py:1", "grader/suites/multi_head_attention/substitutes.py"),
        ("plain/solution.py:1", "solutions/causal_attention.py"),
        ("plain/sentence.md:1", "solutions/self_attention_quiz.yml"),
        ("plain/explanation.txt:1", "solutions/self_attention_quiz.yml"),
        ("plain/variant.json:1", "solutions/self_attention_quiz.yml"),
        ("indented.py:3", "grader/suites/self_attention/test_self_attention.py"),
        ("longer.txt:1", "grader/suites/self_attention/test_self_attention.py"),
        ("broken.txt:1", "grader/suites/self_attention/test_self_attention.py"),
        ("windows.txt:2", "grader/suites/self_attention/test_self_attention.py"),
        ("string.json:", "grader/suites/self_attention/test_self_attention.py"),
        ("twice.json:", "grader/suites/self_attention/test_self_attention.py"),
        ("report.json:2", "solutions/self_attention_quiz.yml"),
        ("folded.yml:", "solutions/self_attention_quiz.yml"),
        ("literal.py:1", "grader/suites/self_attention/test_self_attention.py"),
        ("notebook.ipynb:", "grader/suites/bigram_language_model/misconceptions.py"),
        ("cell.ipynb:", "solutions/self_attention_quiz.yml"),
        ("x.whl: grader/a.py:12", "grader/suites/self_attention/test_self_attention.py"),
        ("all.zip: course/x.whl: grader/b.py:1", "grader/suites/self_attention/test_self_attention.py"),
        ("loose/.git: blob ", "grader/suites/self_attention/test_self_attention.py"),
        ("packed/.git: blob ", "grader/suites/self_attention/test_self_attention.py"),
        ("message/.git: commit ", "solutions/self_attention_quiz.yml"),
    ],
)
def test_a_secret_is_found_in_every_wrapping(place: str, origin: str, found: list[Leak]) -> None:
    assert [leak for leak in found if leak.place.startswith(place) and leak.origin.startswith(origin)]


def test_no_secret_is_printed(found: list[Leak]) -> None:
    told = "\n".join(map(str, found))
    assert not [secret for secret in (TEST, MISTAKE, SOLUTION, SENTENCE, EXPLANATION) if secret in told]


def test_what_students_receive_in_any_case_is_no_secret(found: list[Leak]) -> None:
    assert not [leak for leak in found if leak.place.startswith("innocent/")]


def test_a_folder_with_a_secret_in_it_is_refused_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"\n{TEST}\n", encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"1 line .* nothing was written\. a\.py:2: this is also in grader/suites/"):
        require_none(tmp_path)


def test_every_released_file_and_git_object_is_free_of_secrets(released: Path) -> None:
    assert scan(released) == []


@pytest.mark.proof(part="releases")
def test_what_a_report_tells_may_be_in_a_report_but_no_code(tmp_path: Path) -> None:
    (tmp_path / "told.json").write_text(json.dumps({"sentence": TOLD}), encoding="utf-8")
    (tmp_path / "code.json").write_text(json.dumps({"reason": TEST}), encoding="utf-8")
    assert {leak.place for leak in scan(tmp_path)} == {"told.json:1", "code.json:1"}
    assert {leak.place for leak in scan(tmp_path, told=True)} == {"code.json:1"}


def test_the_secrets_are_the_lines_of_all_that_is_hidden() -> None:
    origins = {origin.split(":")[0] for origin in secrets().values()}
    assert {path.relative_to(REPOSITORY).as_posix() for path in SOLUTIONS.glob("*_quiz.yml")} < origins
    assert {path.relative_to(REPOSITORY).as_posix() for path in SUITES.glob("*/test_*.py")} < origins
    # A solution of a few short lines has none that is long enough.
    assert {origin for origin in origins if origin.startswith("solutions/") and origin.endswith(".py")}
