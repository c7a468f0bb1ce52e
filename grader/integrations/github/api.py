"""What is asked of GitHub: which branch is a repository's default, what was pushed to it and when, and a status."""

from __future__ import annotations

import datetime
import importlib.util
import os
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from grader.classes.collected import Push
from grader.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import requests

API, SERVER = "https://api.github.com", "https://github.com"

TRIES = 5
LONGEST_WAIT = 60
"""Seconds between two tries, whatever GitHub asks for."""

MOST_PAGES = 200
"""Of 100 pushes each. Nobody pushes so often for a course."""

TOKEN = "GITHUB_TOKEN (in the workflow: the secret CLASS_TOKEN)"
"""Where a token stands, for the sentences about it."""

_TIMEOUT = (10, 60)
_TRANSIENT = {429, 500, 502, 503, 504}
_NOT_KEPT = {404, 410, 501}


class GitHubError(GraderError):
    """Why GitHub did not do what was asked, in one sentence."""


class NotKept(GitHubError):
    """GitHub answers, but keeps no such record."""


class GitHub:
    """GitHub's API. What fails for the moment is tried again, with waits that have an end. Raises GitHubError.

    The token goes into a header and nowhere else.
    """

    def __init__(self, api: str, server: str, token: str | None) -> None:
        """Ask `api` with the token, if any; `server` is where repositories are."""
        self.api = api.rstrip("/")
        self.server = server.rstrip("/")
        self.token = token

    @classmethod
    def from_environment(cls) -> GitHub:
        """Return the GitHub of GITHUB_API_URL and GITHUB_SERVER_URL, with the token GITHUB_TOKEN."""
        if importlib.util.find_spec("requests") is None:
            raise GitHubError("To ask GitHub, requests is needed: run `pip install -e .[github]`.")
        named = {name: os.environ.get(f"GITHUB_{name}", "").strip() for name in ("API_URL", "SERVER_URL", "TOKEN")}
        # A header that cannot be sent would be shown in an error of somebody else's.
        if not re.fullmatch("[!-~]*", named["TOKEN"]):
            raise GitHubError(
                f"The token in {TOKEN} has white space or signs in it that no token has: copy it again, on one line."
            )
        if named["API_URL"] and not _is_address(named["API_URL"]):
            raise GitHubError(f"GITHUB_API_URL is {named['API_URL']!r}: write an http(s) address, such as {API}.")
        return cls(named["API_URL"] or API, named["SERVER_URL"] or SERVER, named["TOKEN"] or None)

    def default_branch(self, repository: str) -> str:
        """Return the name of a repository's default branch. Raises GitHubError."""
        with self._asked("GET", f"repos/{repository}") as response:
            if response.status_code in {401, 403, 404}:
                raise GitHubError(self._no_access(repository, response.status_code))
            branch = _json(response, dict).get("default_branch")
        if not isinstance(branch, str) or not branch:
            raise GitHubError(f"GitHub names no default branch of {repository}.")
        return branch

    def pushes(self, repository: str) -> list[Push]:
        """Return all pushes to all branches, from the newest on.

        Raises:
            NotKept: GitHub gives no such record.
            GitHubError: There may be a record, and it cannot be read.
        """
        parameters: dict[str, str] | None = {"per_page": "100"}
        address = f"repos/{repository}/activity"
        found: list[Push] = []
        for _ in range(MOST_PAGES):
            # The repository could be read just now, so 403 is most likely a limit.
            with self._asked("GET", address, parameters, transient=_TRANSIENT | {403}) as response:
                if response.status_code in _NOT_KEPT:
                    raise NotKept(f"GitHub gives no record of pushes ({response.status_code})")
                if response.status_code == 401:
                    raise GitHubError(self._no_access(repository, 401))
                found += map(_push, _json(response, list))
                address, parameters = response.links.get("next", {}).get("url", ""), None
            if not address:
                return sorted(found, key=lambda push: push.at, reverse=True)
        raise GitHubError(
            f"{repository} has more than {len(found)} pushes, and no more of GitHub's record are read: what was there "
            "in time has to be found by hand."
        )

    def post_status(self, repository: str, commit: str, context: str, description: str) -> None:
        """Post a status that says success beside a commit."""
        status = {"state": "success", "context": context, "description": description}
        with self._asked("POST", f"repos/{repository}/statuses/{commit}", json=status) as response:
            if response.status_code in {401, 403, 404}:
                raise GitHubError(
                    f"GitHub does not let this token write statuses of {repository} ({response.status_code}): give the "
                    f"token in {TOKEN} the permission `Commit statuses: read and write`."
                )
            _json(response, dict)

    def _asked(
        self,
        method: str,
        address: str,
        parameters: dict[str, str] | None = None,
        json: Any = None,
        transient: Collection[int] = _TRANSIENT,
    ) -> requests.Response:
        """Send a request, again while the answer is transient, and return the answer."""
        import requests

        address = address if address.startswith(f"{self.api}/") else f"{self.api}/{address}"
        with requests.Session() as session:
            for wait in _waits():
                try:
                    response = session.request(
                        method, address, params=parameters, json=json, auth=self._sign, timeout=_TIMEOUT
                    )
                except requests.RequestException as error:
                    problem = f"GitHub could not be reached at {self.api} ({type(error).__name__})"
                    pause: float | None = wait
                else:
                    pause = _pause(response, wait, transient)
                    if pause is None:
                        return response
                    problem = f"GitHub still answers {response.status_code} after {TRIES} tries"
                if wait is not None and pause is not None:
                    time.sleep(min(pause, LONGEST_WAIT))
        raise GitHubError(f"{problem}: run the same command again later.")

    def _sign(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Accept"] = "application/vnd.github+json"
        request.headers["User-Agent"] = "autograder"
        if self.token:
            request.headers["Authorization"] = f"Bearer {self.token}"
        return request

    def _no_access(self, repository: str, status: int) -> str:
        if status == 401:
            return f"GitHub does not accept the token in {TOKEN}: make a new one."
        if not self.token:
            return f"GitHub shows no {repository} to the public: correct the roster, or set {TOKEN}."
        return (
            f"GitHub shows no {repository} to this token ({status}): correct the roster, or let the token in {TOKEN} "
            "read the repository."
        )


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        # Reading the port is what finds one that is no number.
        return bool(re.fullmatch("[!-~]+", text) and parts.scheme in {"http", "https"} and parts.hostname) and (
            parts.port is None or parts.port > 0
        )
    except ValueError:
        return False


def _waits() -> Iterator[float | None]:
    """Yield the seconds to wait after each try, twice as many each time; None after the last."""
    yield from (float(2**number) for number in range(TRIES - 1))
    yield None


def _pause(response: requests.Response, wait: float | None, transient: Collection[int]) -> float | None:
    """Return how long to wait before asking again; None if the answer is final."""
    headers, status = response.headers, response.status_code
    # GitHub says 403 both to who may not and to who asked too often.
    is_limit = status == 403 and (
        "Retry-After" in headers
        or headers.get("X-RateLimit-Remaining") == "0"
        or "rate limit" in response.text[:10_000].lower()
    )
    if not is_limit and status not in transient:
        return None
    if headers.get("Retry-After", "").isdigit():
        return float(headers["Retry-After"])
    if headers.get("X-RateLimit-Remaining") == "0" and headers.get("X-RateLimit-Reset", "").isdigit():
        return max(0.0, float(headers["X-RateLimit-Reset"]) - time.time())
    return wait or 0.0


def _json(response: requests.Response, kind: type) -> Any:
    try:
        response.raise_for_status()
        found = response.json()
    except (OSError, ValueError):
        found = None
    if not isinstance(found, kind):
        raise GitHubError(f"GitHub answers {response.status_code}, and not what was asked for.")
    return found


def _push(entry: Any) -> Push:
    try:
        actor = (entry.get("actor") or {}).get("login")
        at = datetime.datetime.fromisoformat(entry["timestamp"]).astimezone(datetime.UTC)
        push = Push(at, actor, entry["activity_type"], entry["ref"], entry["before"], entry["after"])
        if all(isinstance(text, str) for text in (push.kind, push.ref, push.before, push.after, actor or "")):
            return push
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise GitHubError("GitHub's record of pushes is not in the form that is known.")
