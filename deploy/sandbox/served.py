"""What every sandbox forge does alike: it serves, takes pushes, fails on purpose and sends webhooks."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from deploy.sandbox.git import FileContent, GitError, GitRepository
from deploy.sandbox.httpd import BackgroundServer
from deploy.sandbox.outbox import Delivery, Destination, Outbox
from deploy.sandbox.recording import App, RecordedRequest, Recorder


class CodeRepository(Protocol):
    """A repository of any forge."""

    git: GitRepository
    default_branch: str


class ServedState(Protocol):
    """What is remembered of any forge; `relative_root` is what the URL has behind the host."""

    lock: threading.RLock
    url: str

    @property
    def relative_root(self) -> str: ...
    @property
    def api_url(self) -> str: ...


class ServedForge(ABC):
    """A forge on loopback; its verbs take effect at once and send their webhooks."""

    def __init__(
        self, app: App, *, api_prefix: str, served: ServedState, hook: Destination, outbox: Outbox
    ) -> None:
        self._served = served
        self._hook = hook
        self._sent = outbox
        self._recorder = Recorder(app, f"{served.relative_root}{api_prefix}")
        self._server: BackgroundServer | None = None

    @abstractmethod
    def _repository(self, full_name: str) -> CodeRepository:
        """Find a repository; raises KeyError."""

    @abstractmethod
    def _pushed(
        self, full_name: str, branch: str, before: str | None, after: str, *, author: str, forced: bool
    ) -> None:
        """Let a branch's new head have its effects."""

    # Running it

    def start(self, port: int = 0, host: str = "127.0.0.1") -> None:
        """Listen on a port, a free one if it is 0, and begin to send webhooks."""
        self._server = BackgroundServer(self._recorder, host=host, port=port)
        self._served.url = f"{self._server.url}{self._served.relative_root}"
        self._server.start()
        self._sent.start()

    def stop(self) -> None:
        """Stop to listen and to send; what it remembers can still be read."""
        self._recorder.stopping.set()
        if self._server:
            self._server.stop()
        self._sent.stop()

    @property
    def url(self) -> str:
        """Return where the pages are."""
        return self._served.url

    @property
    def api_url(self) -> str:
        """Return the REST API's base URL."""
        return self._served.api_url

    # Code

    def commit(
        self,
        full_name: str,
        branch: str,
        files: Mapping[str, FileContent],
        *,
        message: str = "Change files",
        start: str | None = None,
        renames: Mapping[str, str] | None = None,
        author: str = "ada",
    ) -> str:
        """Push one commit and return its SHA; None as content deletes a file.

        A branch that does not exist starts at `start` (the default branch). Open pull requests of it are updated.
        """
        with self._served.lock:
            repository = self._repository(full_name)
            before, after = repository.git.commit_on_top(
                branch,
                files,
                message=message,
                author=author,
                start=start or repository.default_branch,
                default_branch=repository.default_branch,
                renames=renames,
            )
            self._pushed(full_name, branch, before, after, author=author, forced=False)
            return after

    def force_push(self, full_name: str, branch: str, to: str, author: str = "ada") -> None:
        """Point a branch at any commit."""
        with self._served.lock:
            git = self._repository(full_name).git
            sha = git.resolve(to)
            if sha is None:
                raise GitError(f"there is no commit {to!r} in {full_name}")
            before = git.require_branch(branch)
            git.set_ref(f"refs/heads/{branch}", sha)
            self._pushed(full_name, branch, before, sha, author=author, forced=True)

    def import_branch(
        self,
        full_name: str,
        source: Path,
        base_revision: str,
        head_revision: str,
        *,
        base: str = "base",
        head: str = "head",
    ) -> None:
        """Fetch two revisions of a local git repository as the branches `base` and `head`."""
        with self._served.lock:
            self._repository(full_name).git.fetch(source, {base: base_revision, head: head_revision})

    def git_path(self, full_name: str) -> Path:
        """Return where the bare repository lies, for git itself."""
        return self._repository(full_name).git.path

    # Trouble

    def fail(
        self,
        method: str,
        path_regex: str,
        *,
        times: int = 1,
        status: int | None = 502,
        body: object = None,
        headers: dict[str, str] | None = None,
        after_storing: bool = False,
        delay_s: float = 0.0,
        drop_connection: bool = False,
    ) -> None:
        """Answer the next `times` matching requests wrongly.

        `path_regex` is searched for in the path below the API's base URL. `status` None only delays the right
        answer. With `after_storing` the request takes effect first.
        """
        self._recorder.add_fault(
            method,
            path_regex,
            times=times,
            status=status,
            body=body,
            headers=headers,
            after_storing=after_storing,
            delay_s=delay_s,
            drop_connection=drop_connection,
        )

    @property
    def requests(self) -> list[RecordedRequest]:
        """Return every request to the API so far."""
        return self._recorder.requests

    @property
    def observers(self) -> list[Callable[[RecordedRequest], object]]:
        """Return the functions that are called with each request; append to it."""
        return self._recorder.observers

    # Webhooks

    @property
    def webhook_url(self) -> str:
        """Return where webhooks go; "" sends none."""
        return self._hook.url

    @webhook_url.setter
    def webhook_url(self, url: str) -> None:
        self._hook.url = url

    @property
    def deliveries(self) -> list[Delivery]:
        """Return every webhook sent or about to be sent."""
        return self._sent.deliveries

    def redeliver(self, guid: str) -> None:
        """Send a webhook again under its key."""
        self._sent.redeliver(next(one for one in self._sent.deliveries if one.guid == guid))

    def wait_for_webhooks(self, timeout: float = 10.0) -> None:
        """Return when all webhooks were answered; raises TimeoutError."""
        self._sent.wait(timeout)
