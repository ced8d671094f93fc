"""The queue: Celery's settings, the names of queues and tasks, and publishing. No tasks live here.

A message carries only the review's id. It is a hint: the row in the database is the truth, and the sweeper
publishes again what a broker has lost.
"""

import queue
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from celery import Celery
from kombu import Queue
from kombu.exceptions import OperationalError

log = structlog.get_logger(__name__)

HIGH = "high"
LOW = "low"
REVIEW_TASK = "redline.review"
CONCLUDE_TASK = "redline.conclude"

# How long Redis keeps a message that a worker took before it gives it to another one. Longer than any review
# may run, or it would be started twice; a worker that died is noticed by its lease much earlier.
_VISIBILITY_TIMEOUT_S = 3600


# A review takes seconds, so more than a few new hints a second from each process help nobody.
_BETWEEN_MESSAGES_S = 0.25
_SAY_EVERY_S = 10.0


class BrokerUnavailable(Exception):
    """The message could not be published in time; the sweeper will publish it."""


def make_celery(broker_url: str, *, socket_timeout_s: float = 2.0) -> Celery:
    """Make the Celery app for a broker address, for publishing as well as for working.

    `socket_timeout_s` bounds how long a silent broker holds up a webhook's answer; workers, which wait for
    messages on the same connection, pass more.

    The values and their reasons: https://docs.celeryq.dev/en/stable/userguide/configuration.html
    """
    scheme = urlsplit(broker_url).scheme
    app = Celery(
        "redline", broker="filesystem://" if scheme == "filesystem" else broker_url, set_as_current=False
    )
    app.conf.update(
        task_queues=(Queue(HIGH), Queue(LOW)),
        task_default_queue=LOW,
        task_create_missing_queues=False,
        # A message is acknowledged after its work, so a killed worker's messages come back.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        # State lives in the database, so there is no result backend.
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(broker_url, socket_timeout_s),
        # Publishing happens inside a webhook's answer: bounded to two seconds even if the broker is silent.
        task_publish_retry_policy={
            "max_retries": 0,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
        },
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        worker_enable_remote_control=True,
    )
    return app


def publish_review(app: Celery, review_id: int, queue: str) -> None:
    """Tell the workers of a queue that a review waits; raises BrokerUnavailable within about two seconds."""
    _publish(app, REVIEW_TASK, review_id, queue)


class BackgroundPublisher:
    """Publish reviews from a thread of its own, best effort, so that no webhook's answer waits for the broker.

    At most `backlog` messages wait; what does not fit, and what the broker does not take, is left to the
    sweeper, which publishes from the database. A burst is thereby stored at the database's speed, with only
    as many messages as workers could begin with.
    """

    def __init__(self, app: Celery, backlog: int = 64) -> None:
        self._app = app
        self._waiting: queue.Queue[tuple[int, str]] = queue.Queue(backlog)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._left = 0
        self._said_at = 0.0

    def publish(self, review_id: int, queue_name: str) -> None:
        """Hand a review over and return at once."""
        with self._starting:
            if self._thread is None:
                # Not in __init__: a thread does not survive the fork of a web server's processes.
                self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait((review_id, queue_name))
        except queue.Full:
            self._leave_to_sweeper()

    def _leave_to_sweeper(self) -> None:
        # Not a line for each: in a burst this is most of them. Threads may lose a count to each other.
        self._left += 1
        if time.monotonic() - self._said_at >= _SAY_EVERY_S:
            log.warning("reviews left to the sweeper", count=self._left, reason="too many arrive at once")
            self._left, self._said_at = 0, time.monotonic()

    def _run(self) -> None:
        while True:
            review_id, queue_name = self._waiting.get()
            try:
                publish_review(self._app, review_id, queue_name)
            except BrokerUnavailable as error:
                log.warning("review left to the sweeper", review=review_id, reason=str(error))
            time.sleep(_BETWEEN_MESSAGES_S)


def publish_conclusion(app: Celery, review_id: int) -> None:
    """Tell the workers that a review has ended without its author seeing it; raises BrokerUnavailable."""
    _publish(app, CONCLUDE_TASK, review_id, HIGH)


def _publish(app: Celery, task: str, review_id: int, queue: str) -> None:
    try:
        app.send_task(task, kwargs={"review_id": review_id}, queue=queue)
    except (OperationalError, OSError) as error:
        raise BrokerUnavailable(f"the broker did not take the message: {error}") from error


def _transport_options(broker_url: str, socket_timeout_s: float) -> dict[str, object]:
    scheme = urlsplit(broker_url).scheme
    if scheme.startswith(("redis", "rediss")):
        return {
            "visibility_timeout": _VISIBILITY_TIMEOUT_S,
            # After a crash the defaults need up to 100 s to look for unacknowledged messages.
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            # Without these a broker that accepts connections and then is silent blocks for ever.
            "socket_timeout": socket_timeout_s,
            "socket_connect_timeout": 2,
            "socket_keepalive": not scheme.endswith("+socket"),
            "health_check_interval": 25,
            "global_keyprefix": "redline:",
            # In the order of `-Q`: the worker for `low,high` takes short reviews only when no long one waits.
            "queue_order_strategy": "priority",
        }
    if scheme == "filesystem":
        folder = Path(broker_url.removeprefix("filesystem://"))
        # The transport makes only the folder for its control files.
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return {
            "data_folder_in": str(folder),
            "data_folder_out": str(folder),
            "control_folder": str(folder / "control"),
            "polling_interval": 0.1,
        }
    return {}
