"""How submissions are matched to the students of a roster."""

from __future__ import annotations

import pytest

from grader.classes.matcher import Matcher
from grader.classes.roster import RosterEntry


@pytest.mark.parametrize(
    ("found", "student", "rule"),
    [
        ("jane", "jane", "student"),
        ("JANE", "jane", "student"),
        ("Jane-Doe_4712", "jane", "id"),
        ("doejane_4712", "jane", "id"),
        ("Jane-Doe_9", "jane", "name"),
        ("doejane_9", "jane", "name"),
        ("jd1", "jane", "sis_login_id"),
        ("jane.doe", "jane", "email"),
        ("attention-jane", "jane", "repository"),
        ("attention-jane-main", "jane", "repository"),
        ("jd1@x.org", "jane", "sis_login_id"),
        ("jane.doe-x.org", "jane", "email"),
        ("eve", None, ""),
        ("Al-Roe_5", None, ""),
    ],
)
def test_a_submission_is_matched_by_the_first_rule_that_fits_one_student(
    found: str, student: str | None, rule: str
) -> None:
    jane = RosterEntry("jane", "Doe, Jane", "4712", "jane.doe@x.org", "", "jd1@x.org", repository="o/attention-jane")
    twins = [RosterEntry("al", "Al Roe"), RosterEntry("al2", "Al Roe")]
    got = Matcher([jane, *twins]).match(found)
    assert (got and (got[0].student, got[1])) == (student and (student, rule))


SHARED = [
    RosterEntry("ann", "Ann Ny", "7", "jdoe@a.org"),
    RosterEntry("bo", "Bo Li", "8", "jdoe@b.org"),
    RosterEntry("jon", "Jon Doe", "9", "jon@b.org", "", "jon"),
    RosterEntry("jo", "Jo Doe", "", "jon@c.org"),
    RosterEntry("li1", "Al Li", "11"),
    RosterEntry("li2", "Al Li", "12"),
]


@pytest.mark.parametrize(
    ("found", "students"),
    [
        ("jdoe", ["ann", "bo"]),  # the part of an address that two share
        ("jdoe-b.org", ["bo"]),  # a whole address
        ("jon", ["jon"]),  # a login before the part of an address
        ("Al-Li_11", ["li1"]),  # a number before a name
        ("Al-Li_13", ["li1", "li2"]),  # a name that two have
        ("Bo-Li_7", ["ann", "bo"]),  # a number of one and the name of another
        ("Ann-Smith_7", ["ann"]),  # a number alone
    ],
)
def test_of_several_students_who_fit_the_one_who_fits_best_or_all_are_named(found: str, students: list[str]) -> None:
    assert sorted(entry.student for entry in Matcher(SHARED).fitting(found)[0]) == students


@pytest.mark.parametrize(
    ("names", "matches"),
    [
        # `gh classroom clone`; `gh teacher download`, and a student without a login; one clone; GitHub's zips.
        (["attention-ada", "attention-Mary-Ann"], {"attention-ada": "ada", "attention-Mary-Ann": "mary-ann"}),
        (["cs-hw-1-ada", "cs-hw-1-bela"], {"cs-hw-1-ada": "ada", "cs-hw-1-bela": "bela"}),
        (["attention-ada"], {"attention-ada": "ada"}),
        (["hw-ada-main", "hw-bela-master"], {"hw-ada-main": "ada", "hw-bela-master": "bela"}),
        # A whole login before a prefix; a prefix that no other folder has, or before one login only.
        (["mary-ann", "mary-sue", "ada"], {"mary-ann": "mary-ann", "mary-sue": None, "ada": "ada"}),
        (["lee-ann", "ada", "bela"], {"lee-ann": None}),
        (["lee-ann", "lee-bob"], {"lee-ann": None}),
        # A group in Moodle that the roster does not name.
        (["Group A-Ada Doe_1", "Group A-Zoë Ny_2"], {"Group A-Ada Doe_1": "ada", "Group A-Zoë Ny_2": "bela"}),
    ],
)
def test_a_clone_is_matched_by_the_login_after_a_prefix_that_others_share(
    names: list[str], matches: dict[str, str | None]
) -> None:
    ada, ann, mary = (RosterEntry(name, f"{name} Doe", sis_login_id=name) for name in ("ada", "ann", "mary-ann"))
    matcher = Matcher([ada, ann, mary, RosterEntry("bela", "Zoë Ny", email="bela@x.org")])
    prefixes = matcher.prefixes([(name, name) for name in names])
    found = {name: matcher.fitting(name, prefixes)[0] for name in matches}
    assert {name: fitting[0].student if fitting else None for name, fitting in found.items()} == matches


def test_the_name_of_two_repositories_matches_nobody() -> None:
    team = [RosterEntry("cyd", repository="o/team"), RosterEntry("eve", repository="p/team")]
    assert Matcher(team).match("team") is None


@pytest.mark.parametrize(
    ("identifiers", "student"),
    [
        (["jane@x.org"], "jane"),
        (["4712"], "jane"),
        (["4712", "al@x.org"], None),
        (["5"], "al"),
        (["jane@y.org"], "al"),
        ([], "al"),
    ],
)
def test_a_platforms_ids_and_addresses_come_before_the_name(identifiers: list[str], student: str | None) -> None:
    entries = [RosterEntry("jane", "Jane Doe", "4712", "jane@x.org"), RosterEntry("al", "Al Roe", "5", "al@x.org")]
    # The number is that of the submission, and not of a student.
    found = Matcher(entries).match("Al-Roe_4712", identifiers)
    assert (found and found[0].student) == student
