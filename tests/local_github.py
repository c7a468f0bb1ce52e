"""A local GitHub for tests: its API on a port of this machine, and its repositories as git repositories in a folder."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

NOTHING = "0" * 40
TOKEN = "a-token-for-the-test"

Files = Mapping[str, str | bytes | Callable[[Path], object] | None]
"""The files that a commit changes: the new text, None to delete the file, or a function that makes it at its path."""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str] = {}  # noqa: RUF012
    body: Any = None


@dataclass
class Repository:
    """A repository: real commits in a bare repository, and the record of pushes that GitHub would keep."""

    bare: Path
    work: Path
    branch: str = "main"
    activity: list[dict[str, Any]] = field(default_factory=list)
    keeps_activity: bool = True
    visibility: str = "private"
    issues: list[dict[str, Any]] = field(default_factory=list)
    """The issues and pull requests, each with its comments under `comments`."""

    def push(
        self,
        files: Files,
        at: str,
        by: str = "ada-l",
        dated: str | None = None,
        message: str = "My answers",
        replacing: str | None = None,
    ) -> str:
        """Commit these changes and push them at this time as this account. Returns the commit's id.

        dated: the commit's own date, by default that of the push. replacing: a commit to reset to first, which makes
        the push a force-push.
        """
        if replacing:
            git(self.work, "reset", "--quiet", "--hard", replacing)
        for name, content in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
            elif content is None:
                path.unlink()
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        date = dated or at
        git(self.work, "add", "--all", "--force", ".")
        git(self.work, "commit", "--quiet", "--allow-empty", "--message", message, date=date)
        return self.pushed(git(self.work, "rev-parse", "HEAD"), at, by, "force_push" if replacing else None)

    def pushed(self, commit: str, at: str, by: str = "ada-l", kind: str | None = None) -> str:
        """Push this commit to the branch at this time."""
        before = git(self.bare, "for-each-ref", "--format=%(objectname)", f"refs/heads/{self.branch}") or NOTHING
        git(self.work, "push", "--quiet", "--force", str(self.bare), f"{commit}:refs/heads/{self.branch}")
        kind = kind or ("branch_creation" if before == NOTHING else "push")
        entry = {"before": before, "after": commit, "ref": f"refs/heads/{self.branch}", "timestamp": at}
        self.activity.insert(0, {**entry, "activity_type": kind, "actor": {"login": by}})
        return commit

    def switch(self, branch: str, at: str, by: str = "teacher") -> None:
        """Make a copy of the branch at this time, and make it the default branch."""
        commit = git(self.bare, "rev-parse", f"refs/heads/{self.branch}")
        self.branch = branch
        self.pushed(commit, at, by)
        git(self.bare, "symbolic-ref", "HEAD", f"refs/heads/{branch}")


class LocalGitHub:
    """Serves the repositories that are created in it, and records the requests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repositories: dict[str, Repository] = {}
        self.statuses: list[tuple[str, str, dict[str, Any]]] = []
        self.asked: list[tuple[str, str, str | None]] = []
        """The method, path and Authorization of each request."""
        self.instead: dict[str, list[Answer]] = {}
        """Answers to the next requests for a path, in place of the usual ones."""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                url = urlsplit(self.path)
                hub.asked.append((self.command, self.path, self.headers.get("Authorization")))
                if waiting := hub.instead.get(url.path):
                    answer = waiting.pop(0)
                else:
                    query = {key: values[-1] for key, values in parse_qs(url.query).items()}
                    answer = hub._answer(self.command, url.path, query, body)
                content = json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in {**answer.headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815 - named by http.server

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.api = f"http://127.0.0.1:{self.server.server_port}"

    def environment(self) -> dict[str, str]:
        """Return the variables that GitHub sets in a workflow, and the token."""
        return {"GITHUB_API_URL": self.api, "GITHUB_SERVER_URL": self.folder.as_uri(), "GITHUB_TOKEN": TOKEN}

    def create(self, name: str, branch: str = "main") -> Repository:
        """Create an empty repository OWNER/NAME."""
        bare, work = self.folder / f"{name}.git", self.folder / "work" / name
        for folder, options in ((bare, ["--bare"]), (work, [])):
            folder.mkdir(parents=True)
            git(folder, "init", "--quiet", *options, f"--initial-branch={branch}")
        # Like GitHub, serve commits that are on no branch any more.
        git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
        self.repositories[name] = Repository(bare, work, branch)
        return self.repositories[name]

    def _answer(self, method: str, path: str, query: dict[str, str], body: bytes) -> Answer:
        found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", path)
        repository = self.repositories.get(found[1]) if found else None
        if not found or not repository:
            return Answer(404, body={"message": "Not Found"})
        name, rest = found[1], found[2] or ""
        if method == "GET" and not rest:
            about = {"full_name": name, "default_branch": repository.branch, "visibility": repository.visibility}
            return Answer(200, body=about)
        if method == "GET" and rest == "/activity" and repository.keeps_activity:
            entries = [entry for entry in repository.activity if entry["ref"] == query.get("ref", entry["ref"])]
            each, page = int(query.get("per_page", 30)), int(query.get("page", 1))
            headers = {}
            if len(entries) > page * each:
                following = f"{self.api}{path}?{urlencode({**query, 'page': page + 1})}"
                headers["Link"] = f'<{following}>; rel="next", <{self.api}{path}>; rel="first"'
            return Answer(200, headers, entries[(page - 1) * each : page * each])
        if method == "POST" and (status := re.fullmatch("/statuses/([0-9a-f]{40})", rest)):
            self.statuses.append((name, status[1], json.loads(body)))
            return Answer(201, body={})
        if method == "GET" and (status := re.fullmatch("/commits/([0-9a-f]{40})/status", rest)):
            latest = {
                one["context"]: one for where, commit, one in self.statuses if (where, commit) == (name, status[1])
            }
            return Answer(200, body={"statuses": list(latest.values())})
        content = json.loads(body or b"null")
        if rest.startswith("/issues"):
            return _answer_on_issues(repository, method, rest, content)
        return _answer_with_git(repository.bare, method, rest, query, content)


def _answer_on_issues(repository: Repository, method: str, rest: str, content: dict[str, str]) -> Answer:
    """List, create or change issues and their comments."""
    thread = re.fullmatch(r"/issues/(\d+)/comments", rest)
    entries = repository.issues[int(thread[1]) - 1]["comments"] if thread else repository.issues
    if method == "GET":
        return Answer(200, body=entries)
    if method == "PATCH":
        comments = [comment for issue in repository.issues for comment in issue["comments"]]
        [changed] = [comment for comment in comments if comment["id"] == int(rest.rpartition("/")[2])]
        changed.update(content)
        return Answer(200, body=changed)
    identity = (
        {"id": sum(len(issue["comments"]) for issue in repository.issues)}
        if thread
        else {"number": len(repository.issues) + 1, "comments": []}
    )
    entries.append({**identity, **content})
    return Answer(201, body=entries[-1])


def _answer_with_git(bare: Path, method: str, rest: str, query: dict[str, str], content: Any) -> Answer:
    """Read or write objects and references of the repository itself."""
    match method, rest.removeprefix("/").split("/"):
        case "GET", ["git", "ref", *name]:
            found = git(bare, "for-each-ref", "--format=%(objectname)", f"refs/{'/'.join(name)}")
            return Answer(200, body={"object": {"sha": found}}) if found else Answer(404)
        case "POST", ["git", "trees"]:
            entries = [(one["mode"], one["path"], _blob(bare, one["content"].encode())) for one in content["tree"]]
            return Answer(201, body={"sha": _tree(bare, entries)})
        case "POST", ["git", "commits"]:
            return Answer(201, body={"sha": _commit(bare, content["tree"], content["parents"], content["message"])})
        case "POST", ["git", "refs"]:
            git(bare, "update-ref", content["ref"], content["sha"], NOTHING)
            return Answer(201, body={})
        case "GET", ["contents", path]:
            present = git(bare, "ls-tree", f"refs/heads/{query['ref']}", path).split()
            if not present:
                return Answer(404)
            text = git(bare, "show", present[2]) + "\n"
            return Answer(200, body={"sha": present[2], "content": base64.encodebytes(text.encode()).decode()})
        case "PUT", ["contents", path]:
            branch = f"refs/heads/{content['branch']}"
            listed = (line.split(None, 3) for line in git(bare, "ls-tree", branch).splitlines())
            entries = [(mode, name, oid) for mode, _, oid, name in listed]
            if (path, content["sha"]) not in [(name, oid) for _, name, oid in entries]:
                return Answer(409)
            kept = [entry for entry in entries if entry[1] != path]
            new = ("100644", path, _blob(bare, base64.b64decode(content["content"])))
            git(bare, "update-ref", branch, _commit(bare, _tree(bare, [*kept, new]), [branch], content["message"]))
            return Answer(200, body={})
    return Answer(404, body={"message": "Not Found"})


def _blob(bare: Path, content: bytes) -> str:
    return git(bare, "hash-object", "-w", "--stdin", content=content)


def _tree(bare: Path, entries: list[tuple[str, str, str]]) -> str:
    lines = "".join(f"{mode} blob {oid}\t{name}\n" for mode, name, oid in entries)
    return git(bare, "mktree", content=lines.encode())


def _commit(bare: Path, tree: str, parents: list[str], message: str) -> str:
    options = [option for parent in parents for option in ("-p", parent)]
    return git(bare, "commit-tree", tree, *options, "-m", message)


@contextmanager
def local_github(folder: Path) -> Iterator[LocalGitHub]:
    """Serve a local GitHub until the end of the block."""
    hub = LocalGitHub(folder)
    thread = threading.Thread(target=hub.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.server.shutdown()
        hub.server.server_close()
        thread.join()


def git(folder: Path, *arguments: str, date: str | None = None, content: bytes | None = None) -> str:
    """Run git without the settings of this machine, and return its output."""
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()}
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *arguments]
    environment = {**os.environ, **alone, **who, **dates}
    done = subprocess.run(command, cwd=folder, env=environment, input=content, capture_output=True, check=True)
    return done.stdout.decode().strip()


def tree(folder: Path, entries: list[tuple[str, bytes, str]]) -> str:
    """Write a tree with these modes, names and objects, even if git would refuse them."""
    content = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return git(folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", content=content)


def basic(token: str) -> str:
    """Return the Authorization header that git sends for a token."""
    return f"Basic {base64.b64encode(f'x-access-token:{token}'.encode()).decode()}"


_WHO = {"NAME": "Somebody", "EMAIL": "somebody@example.org"}
