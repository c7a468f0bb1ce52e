"""What the grader remembers of a student's folder: sections that do not disturb each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.practice.progress import read_state, state_folder, updated_state


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_nothing_is_remembered_at_first_and_reading_writes_nothing(tmp_path: Path) -> None:
    assert read_state(tmp_path).section("hints") == {}
    assert not state_folder(tmp_path).exists()


def test_changes_at_the_same_time_are_all_saved(tmp_path: Path) -> None:
    def count(section: str) -> None:
        with updated_state(tmp_path) as state:
            found = state.section(section)
            found["times"] = found.get("times", 0) + 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, ["hints", "checks"] * 6))
    assert read_state(tmp_path).content == {"hints": {"times": 6}, "checks": {"times": 6}}


def test_an_error_in_the_block_saves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), updated_state(tmp_path) as state:
        state.section("hints")["an_exercise"] = 1 / 0
    assert read_state(tmp_path).content == {}


@pytest.mark.parametrize("damaged", ["", "[1]", "{", "\0"])
def test_a_damaged_file_is_started_anew_with_a_sentence(damaged: str, tmp_path: Path) -> None:
    with updated_state(tmp_path) as state:
        state.section("hints")["an_exercise"] = 2
    (state_folder(tmp_path) / "state.json").write_text(damaged, encoding="utf-8")
    with updated_state(tmp_path) as state:
        assert "state.json was damaged: what it remembered" in state.problem
        state.section("hints")["an_exercise"] = 1
    assert read_state(tmp_path).content == {"hints": {"an_exercise": 1}}
