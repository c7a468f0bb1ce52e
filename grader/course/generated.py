"""What students' commands and visible tests read, and what is built from the solutions, the suites and the tests.

In a checkout these files are not committed. Beside them are digests of them and of all that they are built from, so
they are built again where one is missing, was changed, or is older than its sources. Students receive them as files.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.course.root import has_sources
from grader.errors import BAD_INPUT, GraderError, InternalError
from grader.files import PACKAGE, digest, module_command, write_atomically
from grader.submissions.submission import CHECKS, FOLDER

FILES = (
    "contracts.json", "expected_values.json", "hints.json", "practice.json", "quizzes.json", "rules.json",
    "substitutes.json",
)  # fmt: skip
"""The names of the files. A course may need only some of them."""
STAMP = "built_from.txt"
"""The file with the digests. It has no dot, so that a bundle for Gradescope has it too, and builds nothing."""

# The folders of the package with the code that builds them. A change elsewhere changes none of them.
_CODE = ("course", "engine", "quizzes", "sandbox", "testing")


@dataclass(frozen=True)
class Generated:
    """The generated files of a course.

    Attributes:
        root: The course's folder.
        suites: The folder of its hidden tests.
        settings: What they depend on in autograder.yml.
    """

    root: Path
    suites: Path
    settings: str

    @property
    def folder(self) -> Path:
        """The folder of the files, with the visible tests."""
        return self.root / FOLDER / CHECKS

    @property
    def solutions(self) -> Path:
        """The folder of the sources. Students have none."""
        return self.root / "solutions"

    def are_up_to_date(self) -> bool:
        """Return whether the files are those that the sources give, or there are no sources."""
        if not has_sources(self.solutions):
            return True
        try:
            noted = (self.folder / STAMP).read_text(encoding="utf-8").split()
            return noted == [self.digest_of_sources(), self._digest_of_files()]
        except FileNotFoundError:  # also where another program builds them at this moment
            return False

    def bring_up_to_date(self) -> bool:
        """Build the files in another process, if they are outdated. Other programs wait meanwhile.

        Returns:
            Whether they were outdated.

        Raises:
            GraderError: A source is wrong, or a file cannot be written.
        """
        if self.are_up_to_date():
            return False
        from filelock import FileLock  # takes long to import

        lock = self.root / "build" / f"{CHECKS}.lock"
        try:
            lock.parent.mkdir(exist_ok=True)
            with FileLock(lock):
                if not self.are_up_to_date():
                    self._build()
        except OSError as error:
            raise GraderError(f"{self.folder} is outdated and cannot be written: {error}.") from None
        return True

    def _build(self) -> None:
        """Run the builder in a process in which no module of another course has the names of this one's."""
        if beside := sorted(self.folder.parent.glob("test_*.py")):  # as in courses until November 2026
            raise GraderError(
                f"{beside[0]}: visible tests are in {self.folder} now: move them there, with the pictures, checking.py "
                "and conftest.py."
            )
        print(f"Building the data in {self.folder}: it is missing or outdated.", file=sys.stderr, flush=True)
        for name in FILES:
            (self.folder / name).unlink(missing_ok=True)  # it is wrong, and may be damaged
        done = run_builder(self.root)
        if done.returncode:
            raise (GraderError if done.returncode == BAD_INPUT else InternalError)(done.stderr.strip())

    def write(self, texts: Mapping[str, str], sources: str) -> None:
        """Write these files, each as a whole, and then the digests.

        Args:
            texts: The text of each file, by its name.
            sources: The digest of the sources before they were read, which may have changed since.

        Raises:
            OSError: A file cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_atomically(self.folder / name, text)
        self.mark(sources)

    def mark(self, sources: str) -> None:
        """Write the digests of the sources and of the files as they are. Raises OSError."""
        write_atomically(self.folder / STAMP, f"{sources}\n{self._digest_of_files()}\n")

    def digest_of_sources(self) -> str:
        """Return the digest of what the files are built from."""
        total = hashlib.sha256(self.settings.encode())
        for root, paths in (
            (PACKAGE, (path for name in _CODE for path in (PACKAGE / name).rglob("*.py"))),
            (self.solutions, self.solutions.glob("*.*")),
            (self.suites, self.suites.rglob("*.py")),
            (self.folder, self.folder.glob("*.py")),
        ):
            total.update(digest(sorted(paths), root))
        return total.hexdigest()

    def _digest_of_files(self) -> str:
        return digest(filter(Path.is_file, (self.folder / name for name in FILES)), self.folder).hex()


def run_builder(root: Path) -> subprocess.CompletedProcess[str]:
    """Run the builder for the course in this folder, and return when it has ended."""
    command = module_command("grader.engine.visible_files", root)
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
