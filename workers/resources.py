"""What the threads of one worker process share: database, engine client, forges, publishing, the stop signal."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from celery import Celery

from bot.broker import BackgroundPublisher
from bot.db.engine import Database, open_database
from bot.forges.base import Forge
from bot.forges.registry import open_forges
from bot.llm.base import Llm
from bot.llm.configured import open_llm
from bot.settings import Settings


def utc_now() -> datetime:
    """Give the present time, aware."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Hold them; made once per process. `stopping` is set when the process was told to end."""

    settings: Settings
    database: Database
    llm: Llm
    forge_of: Callable[[str], Forge]
    publish: Callable[[int, str], None]
    now: Callable[[], datetime] = utc_now
    stopping: threading.Event = field(default_factory=threading.Event)


def open_resources(settings: Settings, app: Celery) -> Resources:
    """Open what a worker process needs; nothing is connected until it is used."""
    return Resources(
        settings=settings,
        database=open_database(settings.effective_database_url),
        llm=open_llm(settings),
        forge_of=open_forges(settings),
        publish=BackgroundPublisher(app).publish,
    )
