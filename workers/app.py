"""The Celery application: `celery -A workers.app worker -P threads -Q high`. Tasks take only a review's id."""

import threading

from celery.signals import worker_shutting_down

from bot.broker import CONCLUDE_TASK, REVIEW_TASK, make_celery
from bot.embedded import resolve_broker_url
from bot.settings import load_settings
from bot.telemetry.logs import set_up_logs
from workers.conclude import conclude
from workers.resources import Resources, open_resources
from workers.review import perform_review

settings = load_settings()
set_up_logs(settings.log_format)
app = make_celery(resolve_broker_url(settings), socket_timeout_s=5)


_opening = threading.Lock()
_opened: list[Resources] = []


def resources() -> Resources:
    """Open what the tasks share, once per process and only when the first task runs."""
    with _opening:
        if not _opened:
            _opened.append(open_resources(settings, app))
        return _opened[0]


@app.task(name=REVIEW_TASK)
def review(review_id: int) -> None:
    """Do a review."""
    perform_review(review_id, resources())


@app.task(name=CONCLUDE_TASK)
def conclude_review(review_id: int) -> None:
    """Show the end of a review to its author."""
    conclude(review_id, resources())


@worker_shutting_down.connect
def stop_reviews(**_signal: object) -> None:
    """Have the running reviews give themselves back, so that a restart waits for no engine."""
    resources().stopping.set()
