"""GitHub's API: a repository's default branch, the pushes to it with their times, and commit statuses."""

from __future__ import annotations

import datetime
import importlib.util
import os
import re
from typing import TYPE_CHECKING, Any

from pydantic import HttpUrl, TypeAdapter, ValidationError

from grader.classes.collected import Push
from grader.errors import GraderError

if TYPE_CHECKING:
    import requests

API, SERVER = "https://api.github.com", "https://github.com"

MOST_PAGES = 200
"""The most pages that are read, of 100 pushes each."""

TOKEN = "GITHUB_TOKEN (in the workflow: the secret CLASS_TOKEN)"
"""Where the token comes from, for messages."""

_TIMEOUT = (10, 60)
_NOT_KEPT = {404, 410, 501}


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
        with self._request("GET", f"repos/{repository}") as response:
            if response.status_code in {401, 403, 404}:
                raise GitHubError(self._no_access(repository, response.status_code))
            branch = _json(response, dict).get("default_branch")
        if not isinstance(branch, str) or not branch:
            raise GitHubError(f"GitHub names no default branch of {repository}.")
        return branch

    def pushes(self, repository: str) -> list[Push]:
        """Return all pushes to all branches, the newest first.

        Raises:
            NotKept: GitHub keeps no record of pushes.
            GitHubError: There may be a record, but it cannot be read.
        """
        parameters: dict[str, str] | None = {"per_page": "100"}
        address = f"repos/{repository}/activity"
        found: list[Push] = []
        for _ in range(MOST_PAGES):
            with self._request("GET", address, params=parameters) as response:
                if response.status_code in _NOT_KEPT:
                    raise NotKept(f"GitHub gives no record of pushes ({response.status_code})")
                if response.status_code in {401, 403}:
                    raise GitHubError(self._no_access(repository, response.status_code))
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
        with self._request("POST", f"repos/{repository}/statuses/{commit}", json=status) as response:
            if response.status_code in {401, 403, 404}:
                raise GitHubError(
                    f"GitHub does not let this token write statuses of {repository} ({response.status_code}): give the "
                    f"token in {TOKEN} the permission `Commit statuses: read and write`."
                )
            _json(response, dict)

    def _request(self, method: str, address: str, **about: Any) -> requests.Response:
        """Send a request, again while the answer is transient, and return the answer."""
        import requests
        from requests.adapters import HTTPAdapter

        from grader.integrations.github.retries import TRANSIENT, TRIES, github_retry

        address = address if address.startswith(f"{self.api}/") else f"{self.api}/{address}"
        with requests.Session() as session:
            session.mount(self.api, HTTPAdapter(max_retries=github_retry()))
            try:
                response = session.request(method, address, auth=self._sign, timeout=_TIMEOUT, **about)
            except requests.RequestException as error:
                problem = f"GitHub could not be reached at {self.api} ({type(error).__name__})"
                raise GitHubError(f"{problem}: run the same command again later.") from None
        if response.raw.retries.total == 0 and response.status_code in TRANSIENT:
            problem = f"GitHub still answers {response.status_code} after {TRIES} tries"
            raise GitHubError(f"{problem}: run the same command again later.")
        return response

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
