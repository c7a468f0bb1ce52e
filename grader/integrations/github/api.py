"""GitHub's API: repositories, the pushes to them with their times, commit statuses, and requests for anything else."""

from __future__ import annotations

import datetime
import importlib.util
import os
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import HttpUrl, TypeAdapter, ValidationError

from grader.classes.collected import Push
from grader.errors import GraderError

if TYPE_CHECKING:
    import requests

API, SERVER = "https://api.github.com", "https://github.com"

MOST_PAGES = 200
"""The most pages that are read of a list, of 100 entries each."""

TOKEN = "GITHUB_TOKEN (in the workflow: the secret CLASS_TOKEN)"
"""Where the token comes from, for messages."""

LONGEST_WAIT = 60.0
"""The most seconds between two tries, even if GitHub asks for more."""

_PAUSES = (0, 2, 4, 8)
"""The seconds before each further try, if GitHub asks for none."""
_REFUSED = {403, 429}
_TRANSIENT = _REFUSED | {500, 502, 503, 504}
_TIMEOUT = (10, 60)
_NOT_KEPT = {404, 410, 501}
_STATUSES = "Commit statuses: read and write"
_AGAIN = "run the same command again later"
_TO_DO = {
    409: "push something to it if it is empty, or else run the same command again",
    410: "turn on its issues in its settings on GitHub, or choose another way",
}


class GitHubError(GraderError):
    """A request to GitHub failed; the text is one sentence."""


class NotKept(GitHubError):
    """GitHub keeps no record of the pushes to this repository."""


class GitHub:
    """GitHub's API. A request that fails for the moment is sent again, after a bounded wait.

    The token goes into a header and nowhere else.
    """

    def __init__(self, api: str, server: str, token: str | None) -> None:
        """Use the API at `api` with the token, if any; `server` has the repositories."""
        self.api = api.rstrip("/")
        self.server = server.rstrip("/")
        self.token = token

    @classmethod
    def from_environment(cls) -> GitHub:
        """Return the GitHub of GITHUB_API_URL and GITHUB_SERVER_URL, with the token GITHUB_TOKEN."""
        if importlib.util.find_spec("requests") is None:
            raise GitHubError("To ask GitHub, requests is needed: run `pip install -e .[github]`.")
        named = {name: os.environ.get(f"GITHUB_{name}", "").strip() for name in ("API_URL", "SERVER_URL", "TOKEN")}
        # requests would quote an invalid header, and so the token, in its error.
        if not re.fullmatch("[!-~]*", named["TOKEN"]):
            raise GitHubError(
                f"The token in {TOKEN} has white space or signs in it that no token has: copy it again, on one line."
            )
        api = named["API_URL"] or API
        try:
            TypeAdapter(HttpUrl).validate_python(api)
        except ValidationError:
            raise GitHubError(f"GITHUB_API_URL is {api!r}: write an http(s) address, such as {API}.") from None
        return cls(api, named["SERVER_URL"] or SERVER, named["TOKEN"] or None)

    def default_branch(self, repository: str) -> str:
        """Return the name of a repository's default branch. Raises GitHubError."""
        branch = self._about(repository).get("default_branch")
        if not isinstance(branch, str) or not branch:
            raise GitHubError(f"GitHub names no default branch of {repository}.")
        return branch

    def require_private(self, repository: str) -> None:
        """Raise GitHubError if people without an invitation can read a repository."""
        about = self._about(repository)
        visibility = about.get("visibility") or ("private" if about.get("private") else "public")
        if visibility != "private":
            raise GitHubError(
                f"{repository} is {visibility}, so others could read the grade: make it private in its settings on "
                "GitHub, then run the same command again."
            )

    def pushes(self, repository: str) -> list[Push]:
        """Return all pushes to all branches, the newest first.

        Raises:
            NotKept: GitHub keeps no record of pushes.
            GitHubError: There may be a record, but it cannot be read.
        """
        found: list[Push] = []
        for response in self._pages(f"repos/{repository}/activity"):
            if response.status_code in _NOT_KEPT:
                raise NotKept(f"GitHub gives no record of pushes ({response.status_code})")
            if response.status_code in {401, 403}:
                raise GitHubError(self._no_access(repository, response.status_code))
            found += map(_push, _json(response, list))
            if "next" not in response.links:
                return sorted(found, key=lambda push: push.at, reverse=True)
        raise GitHubError(
            f"{repository} has more than {len(found)} pushes, and no more of GitHub's record are read: what was there "
            "in time has to be found by hand."
        )

    def statuses(self, repository: str, commit: str) -> dict[str, tuple[str, str]]:
        """Return the latest state and description of each context of a commit."""
        found = self.ask("GET", repository, f"commits/{commit}/status?per_page=100", _STATUSES) or {}
        return {one.get("context"): (one.get("state"), one.get("description")) for one in found.get("statuses", [])}

    def post_status(self, repository: str, commit: str, context: str, description: str) -> None:
        """Post a status that says success beside a commit."""
        status = {"state": "success", "context": context, "description": description}
        self.ask("POST", repository, f"statuses/{commit}", _STATUSES, status)

    def ask(
        self, method: str, repository: str, path: str, permission: str, content: Any = None, *, once: bool = False
    ) -> Any:
        """Send a request on a repository. Return the JSON of the answer, or None if a GET finds nothing.

        Args:
            method: GET, or a method that writes.
            repository: OWNER/NAME.
            path: The rest of the address.
            permission: What the token needs, for messages.
            content: What to send as JSON.
            once: Whether GitHub would obey the same request twice: then it is sent again only after a refusal.

        Raises:
            GitHubError: It is refused, or fails.
        """
        with self._request(method, f"repos/{repository}/{path}", once=once, json=content) as response:
            return self._found(response, repository, permission)

    def entries(self, repository: str, path: str, permission: str) -> Iterator[dict[str, Any]]:
        """Yield the entries of a list of a repository, from all of its pages. Raises GitHubError."""
        for response in self._pages(f"repos/{repository}/{path}"):
            yield from self._found(response, repository, permission) or []

    def _about(self, repository: str) -> dict[str, Any]:
        with self._request("GET", f"repos/{repository}") as response:
            if response.status_code in {401, 403, 404}:
                raise GitHubError(self._no_access(repository, response.status_code))
            found: dict[str, Any] = _json(response, dict)
            return found

    def _found(self, response: requests.Response, repository: str, permission: str) -> Any:
        """Return the JSON of an answer; None if a GET finds nothing. Raises GitHubError."""
        status = response.status_code
        if status == 404 and response.request.method == "GET":
            return None
        if status == 401:
            raise GitHubError(self._no_access(repository, status))
        if status in {403, 404}:
            raise GitHubError(
                f"GitHub does not let this token write to {repository} ({status}): give the token in {TOKEN} the "
                f"permission `{permission}`."
            )
        if status >= 400:
            raise GitHubError(f"GitHub answers {status} for {repository}: {_TO_DO.get(status, _AGAIN)}.")
        return _json(response, (dict, list))

    def _pages(self, address: str) -> Iterator[requests.Response]:
        """Yield the pages of a list, up to MOST_PAGES."""
        parameters: dict[str, str] | None = {"per_page": "100"}
        for _ in range(MOST_PAGES):
            with self._request("GET", address, params=parameters) as response:
                yield response
                address, parameters = response.links.get("next", {}).get("url", ""), None
            if not address:
                return

    def _request(self, method: str, address: str, *, once: bool = False, **about: Any) -> requests.Response:
        """Send a request, again while the answer is transient, and return the answer."""
        import requests

        address = address if address.startswith(f"{self.api}/") else f"{self.api}/{address}"
        pauses = iter(_PAUSES)
        while True:
            pause = next(pauses, None)
            try:
                response = requests.request(method, address, auth=self._sign, timeout=_TIMEOUT, **about)
            except requests.RequestException as error:
                is_transient = isinstance(error, requests.ConnectionError | requests.Timeout)
                if once or pause is None or not is_transient:
                    problem = f"GitHub could not be reached at {self.api} ({type(error).__name__})"
                    raise GitHubError(f"{problem}: {_AGAIN}.") from None
                time.sleep(pause)
                continue
            status, limit = response.status_code, _wait_asked_for(response)
            lacks_permission = status == 403 and limit is None
            if status not in (_REFUSED if once else _TRANSIENT) or lacks_permission:
                return response
            if pause is None:
                raise GitHubError(f"GitHub still answers {status} after {len(_PAUSES) + 1} tries: {_AGAIN}.")
            time.sleep(pause if limit is None else limit)

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


def _wait_asked_for(response: requests.Response) -> float | None:
    """Return the seconds that GitHub asks to wait, up to LONGEST_WAIT; None if it names no limit."""
    headers, wait = response.headers, LONGEST_WAIT
    reset = headers.get("X-RateLimit-Reset", "")
    if headers.get("Retry-After", "").isdigit():
        wait = float(headers["Retry-After"])
    elif headers.get("X-RateLimit-Remaining") == "0" and reset.isdigit():
        wait = float(reset) - time.time()
    elif b"rate limit" not in response.content.lower():
        return None
    return min(max(0.0, wait), LONGEST_WAIT)


def _json(response: requests.Response, kind: type | tuple[type, ...]) -> Any:
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
