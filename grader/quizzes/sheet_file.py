"""A student's sheet on disk: where it is, and how an answer is saved in it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from grader.documents import nearest
from grader.errors import GraderError, InternalError
from grader.files import write_atomically
from grader.quizzes.questions import FILENAME, VARIANTS, Questions, read_questions
from grader.quizzes.sheet import Sheet, SheetError, write_sheet
from grader.quizzes.sheet_reader import fill_in, read_sheet


class QuizError(GraderError):
    """The quiz cannot be asked; the text says why, and what to do."""


class SheetNotSaved(InternalError):
    """The disk is full or not writable; the text says so."""


@dataclass(frozen=True)
class SheetFile:
    """A student's sheet. It is read each time, because it may be open in an editor as well."""

    questions: Questions
    path: Path

    def begin(self) -> None:
        """Write a sheet with a variant, unless the student has changed the one that everyone received."""
        # Word by word, for the ends of lines may be others by now.
        received = write_sheet(self.questions, None, {}).split()
        if not self.path.exists() or self._text().removeprefix("\ufeff").split() in ([], received):
            self._save(write_sheet(self.questions, secrets.randbelow(VARIANTS), {}))

    def read(self) -> Sheet:
        """Read the sheet. Raises QuizError where it is not one of this quiz."""
        sheet = read_sheet(self._text(), self.questions)
        if sheet.remarks:
            raise QuizError(sheet.remarks[0])
        return sheet

    def write(self, name: str, answer: str) -> None:
        """Save an answer, or none where it is blank. Raises SheetError where there is no place for it."""
        self._save(fill_in(self._text(), self.questions, name, answer))

    def find_damage(self, name: str) -> str | None:
        """Return why no answer to this item can be saved; None where one can."""
        try:
            fill_in(self._text(), self.questions, name, "")
        except SheetError as error:
            return str(error)
        return None

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise QuizError(f"{self.path} is not UTF-8: save it as UTF-8.") from None
        except OSError as error:
            raise QuizError(f"{self.path} cannot be read ({error.strerror}): put a readable file there.") from None

    def _save(self, text: str) -> None:
        try:
            write_atomically(self.path, text)
        except OSError as error:
            why = error.strerror or error
            raise SheetNotSaved(f"{self.path} could not be written ({why}). It is as it was before.") from None


def find_sheet(unit: str, folder: Path | None = None) -> SheetFile:
    """Return the sheet of a unit's quiz in `folder`, by default the current one, or its exercises/.

    Raises QuizError.
    """
    places = [folder or Path(), (folder or Path()) / "exercises"]
    sources = [place / FILENAME for place in places if (place / FILENAME).is_file()]
    if not sources:
        try:
            here = folder or Path.cwd()
        except FileNotFoundError:
            raise QuizError("This folder no longer exists: go to your course's folder.") from None
        raise QuizError(
            f"There is no {FILENAME} in {here} or its exercises/: go to the folder of your course's repository, or "
            "take the file from there."
        )
    quizzes = read_questions(sources[0])
    if unit not in quizzes:
        raise QuizError(f"There is no quiz {unit!r}; {sources[0]} has {', '.join(quizzes)}.{nearest(unit, quizzes)}")
    filename = quizzes[unit].filename
    place = next((place for place in places if (place / filename).exists()), sources[0].parent)
    return SheetFile(quizzes[unit], place / filename)
