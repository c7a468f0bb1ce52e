"""Requests to GitHub: their retries, their errors and the token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_github import TOKEN, Answer, LocalGitHub, local_github

from grader.integrations.github.api import GitHub, GitHubError, NotKept

NAME = "our-course/attention-ada"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[LocalGitHub]:
    with local_github(tmp_path) as hub:
        yield hub


def client(hub: LocalGitHub, token: str | None = TOKEN) -> GitHub:
    return GitHub(hub.api, "https://github.invalid", token)


def entry(number: int, branch: str = "main") -> dict[str, object]:
    return {
        "before": f"{number:040x}",
        "after": f"{number + 1:040x}",
        "ref": f"refs/heads/{branch}",
        "timestamp": f"2020-01-01T00:{number // 60:02}:{number % 60:02}Z",
        "activity_type": "push",
        "actor": None if number % 2 else {"login": "ada-l"},
    }


def test_pushes_are_read_page_by_page_newest_first(hub: LocalGitHub) -> None:
    hub.create(NAME).activity = [entry(number) for number in range(249, -1, -1)]
    pushes = client(hub).pushes(NAME)
    assert [int(push.before, 16) for push in pushes] == list(range(249, -1, -1))
    assert {push.actor for push in pushes} == {"ada-l", None}


def test_pushes_to_all_branches_are_read_with_their_branch(hub: LocalGitHub) -> None:
    hub.create(NAME).activity = [entry(2, "other"), entry(1, "a/b")]
    assert [push.branch for push in client(hub).pushes(NAME)] == ["other", "a/b"]


def test_an_endless_record_is_an_error(hub: LocalGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.integrations.github.api.MOST_PAGES", 2)
    hub.create(NAME).activity = [entry(number) for number in range(201)]
    with pytest.raises(GitHubError, match="has more than 200 pushes"):
        client(hub).pushes(NAME)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(503, {"Retry-After": "0"}),
        Answer(429, {"Retry-After": "0"}),
        Answer(403, {"Retry-After": "0"}),
        Answer(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"}),
    ],
)
def test_a_transient_failure_is_retried(hub: LocalGitHub, answer: Answer) -> None:
    hub.create(NAME, branch="trunk")
    hub.instead[f"/repos/{NAME}"] = [answer, answer]
    assert client(hub).default_branch(NAME) == "trunk"
    assert len(hub.asked) == 3


def test_a_lasting_failure_is_an_error_after_five_tries(hub: LocalGitHub) -> None:
    hub.create(NAME)
    hub.instead[f"/repos/{NAME}"] = [Answer(502, {"Retry-After": "0"})] * 9
    with pytest.raises(GitHubError, match="GitHub still answers 502 after 5 tries: run the same command again later"):
        client(hub).default_branch(NAME)
    assert len(hub.asked) == 5


def test_what_github_may_have_done_is_sent_again_only_after_a_refusal(hub: LocalGitHub) -> None:
    hub.create(NAME)
    hub.instead[f"/repos/{NAME}/issues"] = [Answer(429, {"Retry-After": "0"}), Answer(502, {"Retry-After": "0"})]
    with pytest.raises(GitHubError, match="GitHub answers 502 for our-course/attention-ada: run the same command"):
        client(hub).ask("POST", NAME, "issues", "Issues: read and write", {}, once=True)
    assert len(hub.asked) == 2


def test_a_forbidden_repository_is_requested_once(hub: LocalGitHub) -> None:
    hub.instead[f"/repos/{NAME}"] = [Answer(403)]
    with pytest.raises(GitHubError, match="shows no our-course/attention-ada to this token \\(403\\)"):
        client(hub).default_branch(NAME)
    assert len(hub.asked) == 1


def test_without_a_token_the_message_asks_for_one(hub: LocalGitHub) -> None:
    with pytest.raises(GitHubError, match="to the public: correct the roster, or set GITHUB_TOKEN"):
        client(hub, token=None).default_branch(NAME)
    assert hub.asked[0][2] is None


def test_a_server_without_a_record_of_pushes_is_not_a_failure(hub: LocalGitHub) -> None:
    hub.create(NAME).keeps_activity = False
    with pytest.raises(NotKept, match="404"):
        client(hub).pushes(NAME)


@pytest.mark.parametrize(("status", "asked"), [(401, 1), (422, 1), (403, 5)])
def test_a_refused_record_is_not_a_missing_record(hub: LocalGitHub, status: int, asked: int) -> None:
    hub.instead[f"/repos/{NAME}/activity"] = [Answer(status, {"Retry-After": "0"})] * 9
    with pytest.raises(GitHubError) as error:
        client(hub).pushes(NAME)
    assert not isinstance(error.value, NotKept)
    assert len(hub.asked) == asked


@pytest.mark.parametrize("body", [{"message": "hello"}, ["x"], [{**entry(1), "timestamp": "yesterday"}]])
def test_a_record_in_another_form_is_an_error(hub: LocalGitHub, body: object) -> None:
    hub.instead[f"/repos/{NAME}/activity"] = [Answer(200, {}, body)]
    with pytest.raises(GitHubError, match="not"):
        client(hub).pushes(NAME)


def test_the_token_is_sent_only_in_a_header(hub: LocalGitHub) -> None:
    repository = hub.create(NAME)
    repository.activity = [entry(1)]
    github = client(hub)
    github.default_branch(NAME)
    github.pushes(NAME)
    github.post_status(NAME, "1" * 40, "context", "description")
    assert [authorization for _, _, authorization in hub.asked] == [f"Bearer {TOKEN}"] * 3
    assert not [path for _, path, _ in hub.asked if TOKEN in path]


def test_the_default_server_is_github(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_API_URL", "GITHUB_SERVER_URL", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "")
    github = GitHub.from_environment()
    assert (github.api, github.server, github.token) == ("https://api.github.com", "https://github.com", None)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("GITHUB_TOKEN", "ghp_secret\nline", "the secret CLASS_TOKEN\\) has white space or signs in it"),
        ("GITHUB_TOKEN", "ghp_secret\N{EM DASH}", "has white space or signs in it"),
        ("GITHUB_API_URL", "not a url", "GITHUB_API_URL is 'not a url': write an http\\(s\\) address"),
        ("GITHUB_API_URL", "ftp://api.github.com", "write an http\\(s\\) address"),
        ("GITHUB_API_URL", "http://localhost:port", "write an http\\(s\\) address"),
    ],
)
def test_invalid_settings_are_an_error_before_any_request(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(GitHubError, match=sentence) as error:
        GitHub.from_environment()
    assert "ghp_secret" not in str(error.value)
