"""A Hub on loopback, in memory: as much of its API as huggingface_hub needs to create, upload, list and download.

Files of LFS are served from another origin, as the Hub's are, which refuses the Hub's tokens.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKENS = {"hf_owner": "user", "hf_reader": "reader"}
LFS_SUFFIXES = (".safetensors", ".bin")
NOT_FOUND = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}


@dataclass(frozen=True)
class File:
    """A file of a commit, stored in git or, if `is_lfs`, beside it."""

    content: bytes
    is_lfs: bool

    @property
    def blob(self) -> str:
        return hashlib.sha1(b"blob %d\0" % len(self.content) + self.content).hexdigest()

    @property
    def etag(self) -> str:
        return hashlib.sha256(self.content).hexdigest() if self.is_lfs else self.blob


@dataclass
class Repository:
    """Commits with all their files, and the commit that each branch is at."""

    private: bool
    commits: dict[str, dict[str, File]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, branch: str, files: dict[str, File]) -> str:
        oid = hashlib.sha1(f"{branch} {len(self.commits)}".encode()).hexdigest()
        self.commits[oid] = files
        self.branches[branch] = oid
        return oid

    def files(self, branch: str = "main") -> dict[str, bytes]:
        return {path: file.content for path, file in self.commits[self.branches[branch]].items()}


Action = Callable[["_Handler"], bool]


@dataclass
class Fault:
    """What happens to requests instead of their answer.

    Attributes:
        request: pattern of method and path.
        action: takes the handler; returns whether it has answered.
        times: how often.
    """

    request: str
    action: Action
    times: int


class HubServer(ThreadingHTTPServer):
    """The server.

    Attributes:
        repositories: by name.
        objects: of LFS, by digest.
        requests: method and path, in their order.
        sleeps: seconds that clients of this process would have slept.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoint = f"http://127.0.0.1:{self.server_port}"
        self.storage = f"http://localhost:{self.server_port}/storage"
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.sleeps: list[float] = []
        self.lock = threading.RLock()

    def fail(self, request: str, action: Action, times: int = 1000) -> None:
        """Let requests fail, those whose method and path begin with a pattern."""
        self.faults.append(Fault(request, action, times))

    def action_for(self, request: str) -> Action | None:
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                if fault.times and re.match(fault.request, request):
                    fault.times -= 1
                    return fault.action
        return None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients go away."""


@contextmanager
def running_hub() -> Iterator[HubServer]:
    server = HubServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def status(code: int, message: str = "", **headers: str) -> Action:
    """Answer with an error."""

    def action(handler: _Handler) -> bool:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return handler.answer(code, {"error": message}, **named)

    return action


def cut(handler: _Handler) -> bool:
    """Close the connection in the middle of what the client sends, or of what it gets."""
    handler.close_connection = handler.is_cut = True
    return False


def truncate(handler: _Handler) -> bool:
    """Answer with half of the file, as if it were all."""
    handler.is_truncated = True
    return False


def first(function: Callable[[], Any]) -> Action:
    """Call a function, then answer."""
    return lambda handler: bool(function() and False)


def owner(name: str) -> str:
    return name.partition("/")[0]


class _Error(Exception):
    def __init__(self, code: int, **headers: str) -> None:
        self.code, self.headers = code, headers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HubServer
    is_cut = is_truncated = False

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    @property
    def length(self) -> int:
        return int(self.headers.get("Content-Length", 0))

    def json(self) -> Any:
        return json.loads(self.body or b"{}")

    def answer(self, code: int, content: Any = None, **headers: str) -> bool:
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
            headers = {"Content-Type": "application/json", **headers}
        half = len(content) // 2
        content = content[:half] if self.is_truncated else content
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[:half] if self.is_cut else content)
        return True

    def handle_one_request(self) -> None:
        self.is_cut = self.is_truncated = False
        super().handle_one_request()

    def handle_method(self) -> None:
        path = urlsplit(self.path).path
        action = self.server.action_for(f"{self.command} {unquote(path)}")
        if action is cut and self.length:
            self.rfile.read(self.length // 2)
            self.close_connection = True
            return
        self.body = self.rfile.read(self.length)
        try:
            if action is not None and action(self):
                return
            for pattern, method in ROUTES.items():
                if match := re.fullmatch(pattern, f"{self.command} {path}"):
                    getattr(self, method)(*map(unquote, match.groups()))
                    return
            raise _Error(404)
        except _Error as error:
            self.answer(error.code, {"error": error.headers.get("X-Error-Message", "")}, **error.headers)

    do_GET = do_HEAD = do_POST = do_PUT = handle_method  # noqa: N815 - names of http.server

    @property
    def user(self) -> str | None:
        header = self.headers.get("Authorization")
        if header is None:
            return None
        token = header.removeprefix("Bearer ")
        if token not in TOKENS:
            raise _Error(401, **{"X-Error-Message": "Invalid credentials in Authorization header"})
        return TOKENS[token]

    def repository(self, name: str) -> Repository:
        repository, user = self.server.repositories.get(name), self.user
        if repository is None or (repository.private and user != owner(name)):
            raise _Error(404 if user else 401, **NOT_FOUND)
        return repository

    def writable(self, name: str) -> Repository:
        repository = self.repository(name)
        if self.user != owner(name):
            raise _Error(403, **{"X-Error-Message": f"You don't have the rights to write to {name}"})
        return repository

    def resolved(self, name: str, revision: str) -> tuple[str, dict[str, File]]:
        repository = self.repository(name)
        oid = repository.branches.get(revision, revision)
        if oid not in repository.commits:
            raise _Error(404, **{"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"})
        return oid, repository.commits[oid]

    def create(self) -> None:
        asked = self.json()
        place = asked.get("organization") or self.user
        if self.user is None or place != self.user:
            raise _Error(401 if self.user is None else 403, **{"X-Error-Message": f"You cannot create for {place}"})
        name = f"{place}/{asked['name']}"
        known = name in self.server.repositories
        if not known:
            private = asked.get("private") or asked.get("visibility") == "private"
            self.server.repositories[name] = Repository(bool(private))
            self.server.repositories[name].commit("main", {".gitattributes": File(b"", False)})
        self.answer(409 if known else 200, {"url": f"{self.server.endpoint}/{name}"})

    def branch(self, name: str, branch: str) -> None:
        repository = self.writable(name)
        start = self.json().get("startingPoint", "main")
        known = branch in repository.branches
        repository.branches.setdefault(branch, repository.branches.get(start, start))
        self.answer(409 if known else 200, {})

    def references(self, name: str) -> None:
        branches = self.repository(name).branches.items()
        named = [{"name": branch, "ref": f"refs/heads/{branch}", "targetCommit": oid} for branch, oid in branches]
        self.answer(200, {"branches": named, "tags": [], "converts": []})

    def info(self, name: str, revision: str = "main") -> None:
        oid, files = self.resolved(name, revision)
        private = self.repository(name).private
        self.answer(
            200, {"id": name, "sha": oid, "private": private, "tags": [], "siblings": [{"rfilename": f} for f in files]}
        )

    def tree(self, name: str, revision: str, folder: str = "") -> None:
        _, files = self.resolved(name, revision)
        entries = []
        for path, file in files.items():
            if path.startswith(folder and f"{folder}/"):
                lfs = {"lfs": {"oid": file.etag, "size": len(file.content), "pointerSize": 130}} if file.is_lfs else {}
                entries.append({"type": "file", "path": path, "size": len(file.content), "oid": file.blob, **lfs})
        if not entries:
            raise _Error(404, **{"X-Error-Code": "EntryNotFound"})
        self.answer(200, entries)

    def file(self, name: str, revision: str, path: str) -> None:
        oid, files = self.resolved(name, revision)
        if path not in files:
            raise _Error(404, **{"X-Error-Code": "EntryNotFound", "X-Repo-Commit": oid})
        file = files[path]
        headers = {"X-Repo-Commit": oid, "ETag": f'"{file.etag}"'}
        if file.is_lfs:
            size = {"X-Linked-Size": str(len(file.content)), "X-Linked-ETag": f'"{file.etag}"'}
            self.answer(302, b"", **headers, **size, Location=f"{self.server.storage}/{file.etag}")
        else:
            self.send_content(file.content, headers)

    def send_content(self, content: bytes, headers: dict[str, str]) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        if asked:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.answer(206 if asked else 200, content[start:], **headers)

    def stored(self, digest: str) -> None:
        if "Authorization" in self.headers:
            raise _Error(400, **{"X-Error-Message": "only one authentication mechanism is allowed"})
        self.send_content(self.server.objects[digest], {"ETag": f'"{digest}"'})

    def store(self, digest: str) -> None:
        content = self.body
        if hashlib.sha256(content).hexdigest() != digest:
            raise _Error(400, **{"X-Error-Message": "the digest is another"})
        self.server.objects[digest] = content
        self.answer(200, {})

    def check_yaml(self) -> None:
        self.answer(200, {"errors": [], "warnings": []})

    def preupload(self, name: str, revision: str) -> None:
        self.writable(name)
        _, files = self.resolved(name, revision)
        answers = []
        for file in self.json()["files"]:
            path = file["path"]
            mode = "lfs" if path.endswith(LFS_SUFFIXES) else "regular"
            known = {"oid": files[path].etag if files[path].is_lfs else files[path].blob} if path in files else {}
            answers.append({"path": path, "uploadMode": mode, "shouldIgnore": False, **known})
        self.answer(200, {"files": answers})

    def batch(self, name: str) -> None:
        self.writable(name)
        answers = []
        for item in self.json()["objects"]:
            if item["oid"] not in self.server.objects:
                upload = {"href": f"{self.server.storage}/{item['oid']}"}
                item["actions"] = {"upload": upload, "verify": {"href": f"{self.server.endpoint}/{name}/verify"}}
            answers.append(item)
        self.answer(200, {"transfer": "basic", "objects": answers})

    def verify(self, name: str) -> None:
        self.writable(name)
        item = self.json()
        self.answer(200 if len(self.server.objects[item["oid"]]) == item["size"] else 422, {})

    def commit(self, name: str, branch: str) -> None:
        repository = self.writable(name)
        lines = [json.loads(line) for line in self.body.splitlines()]
        with self.server.lock:
            _, before = self.resolved(name, branch)
            after = dict(before)
            for line in lines:
                value = line["value"]
                if line["key"] == "file":
                    after[value["path"]] = File(base64.b64decode(value["content"]), False)
                elif line["key"] == "lfsFile":
                    after[value["path"]] = File(self.server.objects[value["oid"]], True)
            oid = repository.commit(branch, after)
        self.answer(200, {"commitOid": oid, "commitUrl": f"{self.server.endpoint}/{name}/commit/{oid}"})


_NAME = r"([^/]+/[^/]+)"
ROUTES = {
    r"POST /api/repos/create": "create",
    r"POST /api/validate-yaml": "check_yaml",
    rf"GET /api/models/{_NAME}": "info",
    rf"GET /api/models/{_NAME}/revision/([^/]+)": "info",
    rf"GET /api/models/{_NAME}/refs": "references",
    rf"GET /api/models/{_NAME}/tree/([^/]+)": "tree",
    rf"GET /api/models/{_NAME}/tree/([^/]+)/(.+)": "tree",
    rf"POST /api/models/{_NAME}/branch/([^/]+)": "branch",
    rf"POST /api/models/{_NAME}/preupload/([^/]+)": "preupload",
    rf"POST /api/models/{_NAME}/commit/([^/]+)": "commit",
    rf"POST /{_NAME}\.git/info/lfs/objects/batch": "batch",
    rf"POST /{_NAME}/verify": "verify",
    rf"(?:GET|HEAD) /{_NAME}/resolve/([^/]+)/(.+)": "file",
    r"(?:GET|HEAD) /storage/(\w+)": "stored",
    r"PUT /storage/(\w+)": "store",
}
