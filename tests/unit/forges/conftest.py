"""Two kinds of servers: the sandbox GitHub with real rules, and one that answers as told, however wrong."""

import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.events import PullRequestRef
from bot.forges.base import PullRequest
from bot.forges.github import GitHubForge
from bot.forges.github_auth import AppCredentials, TokenCredentials
from bot.forges.github_transport import GitHubTransport
from bot.forges.gitlab import GitLabForge
from bot.forges.gitlab_transport import GitLabTransport
from deploy.sandbox.github import GitHubSandbox, PullState, RecordedRequest
from deploy.sandbox.gitlab import GitLabSandbox
from deploy.sandbox.gitlab import PullState as MergeRequestState
from tests.contract.github_spec import GitHubSpec
from tests.contract.gitlab_spec import GitLabSpec


@dataclass(kw_only=True)
class Seen:
    """One request that came."""

    verb: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(kw_only=True)
class Told:
    """One answer to give; `drop` closes the connection instead, `delay_s` answers late."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    delay_s: float = 0.0


class ScriptedServer:
    """Give the answers in order, then 200 `{}`; or ask `route` if it is set."""

    def __init__(self) -> None:
        self.answers: list[Told] = []
        self.seen: list[Seen] = []
        self.route: Callable[[Seen], Told] | None = None
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                told = script.take(
                    Seen(verb=self.command, path=self.path, headers=dict(self.headers), body=body)
                )
                script.stopping.wait(told.delay_s)
                if told.drop:
                    self.close_connection = True
                    return
                self.send_response(told.status)
                for name, value in ({"Content-Type": "application/json"} | told.headers).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(told.body)))
                self.end_headers()
                self.wfile.write(told.body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - named by http.server

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Speak TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = self.url.replace("http://", "https://")

    def take(self, seen: Seen) -> Told:
        with self._lock:
            self.seen.append(seen)
            if self.route is not None:
                return self.route(seen)
            return self.answers.pop(0) if self.answers else Told()

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    script = ScriptedServer()
    yield script
    script.stop()


@pytest.fixture
def elsewhere() -> Iterator[ScriptedServer]:
    """A second server, which must hear nothing."""
    script = ScriptedServer()
    yield script
    script.stop()
    assert script.seen == [], "a request left the configured address"


@pytest.fixture
def told() -> type[Told]:
    return Told


@dataclass(kw_only=True)
class GitHubWorld:
    """A sandbox GitHub with one repository, and our client as the account or App `redline`."""

    sandbox: GitHubSandbox
    forge: GitHubForge
    login: str
    repository: str = "acme/shop"

    def open(self, before: dict[str, object], after: dict[str, object], **kw: object) -> PullRequest:
        """Open a pull request that turns some files into others, and read it."""
        self.sandbox.commit(self.repository, "main", before, message="Before")
        self.sandbox.commit(self.repository, "feature", after, start="main")
        number = self.sandbox.open_pull_request(self.repository, "feature", author="ada", **kw)
        return self.forge.get_pull_request(self.ref(number))

    def ref(self, number: int) -> PullRequestRef:
        return PullRequestRef(forge="github", repository=self.repository, number=number)

    def state(self, pull_request: PullRequest) -> PullState:
        return self.sandbox.pull(self.repository, pull_request.ref.number)

    def sent(self, verb: str, ending: str = "") -> list[RecordedRequest]:
        """List the requests of a verb whose path ends so."""
        return [one for one in self.sandbox.requests if one.method == verb and one.path.endswith(ending)]


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[GitHubSandbox]:
    made = GitHubSandbox(root=tmp_path / "repositories")
    made.start(port=0)
    made.create_repository("acme/shop", files={"README.md": "# Shop\n"})
    # Where GitHub's own description of its API lies beside the repository, it judges every request.
    spec = GitHubSpec.load() if GitHubSpec.is_available() else None
    if spec:
        made.observers.append(spec.check)
    yield made
    made.stop()
    assert spec is None or spec.violations == []


@pytest.fixture
def github(sandbox: GitHubSandbox) -> Iterator[GitHubWorld]:
    """Our client with an account's token."""
    sandbox.add_user("redline", permission="write", token="tok-redline")
    transport = GitHubTransport(sandbox.api_url, timeout_s=30.0, backoff_s=0.01, max_wait_s=2.0)
    forge = GitHubForge(transport, TokenCredentials(transport, "tok-redline"))
    yield GitHubWorld(sandbox=sandbox, forge=forge, login="redline")
    forge.close()


def _make_keys() -> tuple[str, str]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    private = key.private_bytes(pem, form, serialization.NoEncryption())
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


@pytest.fixture(scope="session")
def app_keys() -> tuple[str, str]:
    """The App's private and public key in PEM form."""
    return _make_keys()


@pytest.fixture(scope="session")
def other_key() -> str:
    """A private key that is not the App's."""
    return _make_keys()[0]


@pytest.fixture
def app_github(sandbox: GitHubSandbox, app_keys: tuple[str, str]) -> Iterator[GitHubWorld]:
    """Our client as a GitHub App."""
    permissions = dict.fromkeys(("pull_requests", "issues", "checks"), "write") | {"contents": "read"}
    sandbox.add_app(4711, "redline", app_keys[1], permissions)
    transport = GitHubTransport(sandbox.api_url, timeout_s=30.0, backoff_s=0.01, max_wait_s=2.0)
    forge = GitHubForge(transport, AppCredentials(transport, "4711", app_keys[0]))
    yield GitHubWorld(sandbox=sandbox, forge=forge, login="redline[bot]")
    forge.close()


@pytest.fixture(params=["github", "app_github"])
def either(request: pytest.FixtureRequest) -> GitHubWorld:
    """Our client, once with a token and once as an App."""
    world: GitHubWorld = request.getfixturevalue(request.param)
    return world


@dataclass(kw_only=True)
class GitLabWorld:
    """A sandbox GitLab with one project in nested groups, and our client as the account `redline`."""

    sandbox: GitLabSandbox
    forge: GitLabForge
    login: str = "redline"
    project: str = "acme/web/shop"

    def open(self, before: dict[str, object], after: dict[str, object], **kw: object) -> PullRequest:
        """Open a merge request that turns some files into others, and read it."""
        self.sandbox.commit(self.project, "main", before, message="Before")
        self.sandbox.commit(self.project, "feature", after, start="main")
        return self.read(self.sandbox.open_pull_request(self.project, "feature", author="ada", **kw))

    def read(self, number: int) -> PullRequest:
        return self.forge.get_pull_request(self.ref(number))

    def ref(self, number: int) -> PullRequestRef:
        return PullRequestRef(forge="gitlab", repository=self.project, number=number)

    def state(self, pull_request: PullRequest) -> MergeRequestState:
        return self.sandbox.pull(self.project, pull_request.ref.number)

    def sent(self, verb: str, ending: str = "") -> list[RecordedRequest]:
        """List the requests of a verb whose path ends so."""
        return [one for one in self.sandbox.requests if one.method == verb and one.path.endswith(ending)]


@pytest.fixture
def gitlab(tmp_path: Path) -> Iterator[GitLabWorld]:
    """Our client with a project's token, on a GitLab that runs below a path."""
    sandbox = GitLabSandbox(root=tmp_path / "repositories", relative_url_root="/git")
    sandbox.start(port=0)
    sandbox.add_user("redline", permission="write", token="glpat-redline")
    sandbox.create_repository("acme/web/shop", files={"README.md": "# Shop\n"})
    spec = GitLabSpec.load() if GitLabSpec.is_available() else None
    if spec:
        sandbox.observers.append(spec.check)
    transport = GitLabTransport(sandbox.url, "glpat-redline", timeout_s=30.0, backoff_s=0.01, max_wait_s=2.0)
    forge = GitLabForge(transport, ready_pauses_s=(0.05, 0.1, 0.2))
    yield GitLabWorld(sandbox=sandbox, forge=forge)
    forge.close()
    sandbox.stop()
    assert spec is None or spec.violations == []
