"""The whole of Redline in one process, against a stand-in of either forge, a real database and a model server.

Webhooks travel over HTTP from the sandbox to the receiver. Only the queue is not the real one: a test steps it
by hand, so that it decides what happens before what. `tests/system` has the real queue and real processes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask

from bot.broker import BrokerUnavailable
from bot.db import lookups
from bot.db.deliveries import StoredDelivery, list_deliveries
from bot.db.engine import Database
from bot.db.findings import load_findings
from bot.db.latency import LatencyRecord, list_latency
from bot.db.lookups import Review
from bot.db.tables import ReviewState
from bot.forges.base import Forge
from bot.intake import Intake
from bot.llm.configured import open_llm
from bot.settings import Settings
from bot.web.app import create_app
from bot.web.services import Services
from deploy.sandbox.httpd import BackgroundServer
from tests.hosts import BOT, SECRET, TOKEN, GitHub, make_host
from tests.llm_server import LlmServer
from workers.conclude import conclude
from workers.resources import Resources
from workers.review import perform_review
from workers.sweep import sweep_once

__all__ = ["ADMIN_TOKEN", "BOT", "REPOSITORY", "SECRET", "TOKEN", "UNSAFE_APP", "World", "finding"]

REPOSITORY = GitHub.repository
ADMIN_TOKEN = "admin-token"
FINAL = frozenset(ReviewState) - {ReviewState.QUEUED, ReviewState.RUNNING}


class Crash(BaseException):
    """The worker process dies here: nothing after this point runs, not even error handling."""


@dataclass(slots=True)
class PullRequestHandle:
    """One pull request of the sandbox, in a test's words."""

    world: "World"
    number: int

    @property
    def state(self) -> Any:
        return self.world.sandbox.pull(self.world.repository, self.number)

    @property
    def inline(self) -> list[str]:
        """Where our inline comments stand, as `path:line side`."""
        return [
            f"{each.path}:{each.line} {each.side}"
            for each in self.state.comments
            if each.user == self.world.bot
        ]

    @property
    def summary(self) -> str:
        """The one summary; fails if there are none or several."""
        bodies = [each.body for each in self.state.conversation if "<!-- redline:summary=" in each.body]
        assert len(bodies) == 1, f"{len(bodies)} summaries: {bodies}"
        return str(bodies[0])

    @property
    def status(self) -> tuple[str, str]:
        """State and description of the newest mark, in GitHub's words on either forge."""
        return self.world.host.status_of(self.state)

    @property
    def published(self) -> int:
        """How often inline comments were published."""
        return self.world.host.count_published(self.number)

    @property
    def review(self) -> Review:
        """The newest review of the pull request as it is stored."""
        return self.world.reviews(self.number)[0]

    def comment(self, body: str, author: str = "ada") -> int:
        identity: int = self.world.sandbox.comment(self.world.repository, self.number, body, author)
        self.world.sandbox.wait_for_webhooks()
        return identity

    def reply(self, comment_id: int, body: str, author: str = "ada") -> int:
        identity: int = self.world.sandbox.reply(self.world.repository, self.number, comment_id, body, author)
        self.world.sandbox.wait_for_webhooks()
        return identity

    def push(self, files: dict[str, str | bytes | None], message: str = "More") -> str:
        sha = self.world.commit(f"feature-{self.world.branch_of(self.number)}", files, message=message)
        self.world.sandbox.wait_for_webhooks()
        return sha

    def close(self) -> None:
        self.world.sandbox.close(self.world.repository, self.number)

    def reopen(self) -> None:
        self.world.sandbox.reopen(self.world.repository, self.number)

    def mark_ready(self) -> None:
        self.world.sandbox.mark_ready(self.world.repository, self.number)

    def convert_to_draft(self) -> None:
        self.world.sandbox.convert_to_draft(self.world.repository, self.number)

    def retarget(self, base: str) -> None:
        self.world.sandbox.retarget(self.world.repository, self.number, base)


class World:
    """Everything, wired together. `run()` does what waits in the queue."""

    def __init__(
        self,
        folder: Path,
        database: Database,
        database_url: str,
        *,
        forge: str = "github",
        as_app: bool = False,
        **settings: Any,
    ) -> None:
        self.database = database
        self.host = make_host(forge, folder, as_app=as_app)
        self.sandbox = self.host.sandbox
        self.repository = self.host.repository
        self.bot = self.host.bot
        self.llm = LlmServer().start()
        chosen = {
            "llm_base_url": self.llm.base_url,
            "llm_deadline_s": 5.0,
            "lease_s": 5.0,
            "max_attempts": 3,
            **self.host.settings(),
            **settings,
        }
        self.settings = Settings(
            data_dir=folder / "data",
            database_url=database_url,
            admin_token=ADMIN_TOKEN,
            **chosen,
        )
        self.queue: list[tuple[int, str]] = []
        self.broker_is_down = False
        self._ahead = timedelta()
        self._branches: dict[int, int] = {}
        self._faulty: dict[tuple[str, str], int] = {}
        self.forge = self.host.open(self.settings)
        self.engine = open_llm(self.settings)
        self.resources = Resources(
            settings=self.settings,
            database=database,
            llm=self.engine,
            forge_of=lambda _name: _Breakable(self.forge, self._faulty),
            publish=self.publish,
            now=self.now,
        )
        self.app: Flask = create_app(self.services(self.settings, database))
        self.web = BackgroundServer(self.app.wsgi_app, host="127.0.0.1", port=0)
        self.web.start()
        self.sandbox.webhook_url = f"{self.web.url}/webhooks/{forge}"
        self.sandbox.create_repository(
            self.repository, {"app.py": "import os\n\n\ndef load(name):\n    return open(name)\n"}
        )

    @property
    def github(self) -> Any:
        """The sandbox, where a test is about GitHub alone."""
        assert self.host.name == "github"
        return self.sandbox

    def commit(self, branch: str, files: Mapping[str, str | bytes | None], **options: Any) -> str:
        return str(self.sandbox.commit(self.repository, branch, files, **options))

    def services(self, settings: Settings, database: Database) -> Services:
        """Wire what a receiver of its own works with."""
        intake = Intake(database=database, publish=self.publish, low_queue_tokens=settings.low_queue_tokens)
        return Services(settings=settings, database=database, intake=intake, admin_token=ADMIN_TOKEN)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def publish(self, review_id: int, queue: str) -> None:
        if not self.broker_is_down:
            self.queue.append((review_id, queue))

    def open_pull_request(
        self, files: dict[str, str | bytes | None] | None = None, **options: Any
    ) -> PullRequestHandle:
        """Open a pull request that changes these files, and wait until its webhook was answered."""
        branch = len(self._branches) + 1
        changed = files if files is not None else {"app.py": UNSAFE_APP}
        self.commit(f"feature-{branch}", changed, start="main", message="Change the loader")
        number: int = self.sandbox.open_pull_request(
            self.repository,
            head=f"feature-{branch}",
            base="main",
            **{"title": "Change the loader", "author": "ada", **options},
        )
        self._branches[number] = branch
        self.sandbox.wait_for_webhooks()
        return PullRequestHandle(self, number)

    def branch_of(self, number: int) -> int:
        return self._branches[number]

    def step(self) -> None:
        """Do the first message of the queue, as one worker would."""
        review_id, _queue = self.queue.pop(0)
        perform_review(review_id, self.resources)

    def run(self, most: int = 50) -> None:
        """Do everything that waits, webhooks that arrive meanwhile included."""
        self.sandbox.wait_for_webhooks()
        for _ in range(most):
            if not self.queue:
                return
            self.step()
            self.sandbox.wait_for_webhooks()
        raise AssertionError(f"the queue is not empty after {most} messages: {self.queue}")

    def crash_before(self, method: str) -> None:
        """Let the worker die instead of making its next call of this method of the forge."""
        self._faulty["before", method] = 1

    def crash_after(self, method: str) -> None:
        """Let the worker die right after its next call of this method of the forge has had its effect."""
        self._faulty["after", method] = 1

    def expect_crash(self) -> None:
        """Step the queue and see the worker die."""
        try:
            self.step()
        except Crash:
            return
        raise AssertionError("the worker did not crash")

    def reviews(self, number: int | None = None) -> list[Review]:
        return lookups.list_reviews(self.database, number=number)

    def latency(self) -> list[LatencyRecord]:
        return [record for _, record in list_latency(self.database)]

    def deliveries(self) -> list[StoredDelivery]:
        return list_deliveries(self.database)

    def forget_deliveries(self) -> None:
        """Make the next delivery of an id the first one, as if none had arrived."""
        with self.database.transaction() as connection:
            connection.exec_driver_sql("DELETE FROM delivery")

    def fingerprints(self) -> list[str]:
        return [
            each.finding.fingerprint for each in load_findings(self.database, self.reviews()[0].review_id)
        ]

    def sweep(self, after_s: float) -> None:
        """Let this many seconds go by, make one pass of the sweeper, and do what it asks for."""
        self._ahead += timedelta(seconds=after_s)
        sweep_once(
            self.database,
            self.settings,
            self.now(),
            publish=self._publish_strictly,
            publish_conclusion=self._conclude,
        )

    def _publish_strictly(self, review_id: int, queue: str) -> None:
        if self.broker_is_down:
            raise BrokerUnavailable("the broker is away")
        self.queue.append((review_id, queue))

    def _conclude(self, review_id: int) -> None:
        conclude(review_id, self.resources)

    def finish(self) -> None:
        """Fail if something was left behind: unfinished reviews, or questions the model server found wrong."""
        unfinished = [review for review in self.reviews() if review.state not in FINAL]
        assert not unfinished, f"unfinished reviews: {unfinished}"
        assert not self.llm.problems, self.llm.problems
        for number in self._branches:
            pending = self.host.unfinished_marks(self.sandbox.pull(self.repository, number))
            assert not pending, f"marks that never ended: {pending}"
        untold = [r for r in self.reviews() if r.claimed_at and r.status_id and not r.told_at]
        assert not untold, f"reviews whose end nobody can see: {untold}"

    def stop(self) -> None:
        self.web.stop()
        self.engine.close()
        self.forge.close()  # type: ignore[attr-defined]  # both have it, the review needs it of neither
        self.sandbox.stop()
        self.llm.stop()


class _Breakable:
    """Pass everything on to a real forge, and die where a test wants it."""

    def __init__(self, forge: Forge, faulty: dict[tuple[str, str], int]) -> None:
        self._forge = forge
        self._faulty = faulty

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._forge, name)

        def call(*args: Any, **values: Any) -> Any:
            if self._faulty.pop(("before", name), 0):
                raise Crash(f"before {name}")
            answer = method(*args, **values)
            if self._faulty.pop(("after", name), 0):
                raise Crash(f"after {name}")
            return answer

        return call


# Line 6 is what tests comment on.
UNSAFE_APP = """import os


def load(name):
    path = "/srv/" + name
    return eval(open(path).read())
"""


def finding(
    line: str = "1R6", quote: str = "    return eval(open(path).read())", **values: Any
) -> dict[str, Any]:
    """Build what the model says of one line; by default about the eval of UNSAFE_APP."""
    return {
        "line": line,
        "quote": quote,
        "severity": "high",
        "category": "security",
        "message": "File contents are evaluated as code. Anyone who can write the file runs code here.",
        "replacement": "",
        **values,
    }
