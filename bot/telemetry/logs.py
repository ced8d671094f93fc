"""Logs: one event per line, with what it is about as fields; never a secret, never a payload."""

import logging
import sys
from typing import Any

import structlog


def set_up_logs(log_format: str) -> None:
    """Send our events and those of libraries to stderr in one format, `console` or `json`."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering: list[Any] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if log_format == "json"
        else [
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(),
                pad_event_to=0,
                # The pretty tracebacks show local variables, secrets and payloads among them.
                exception_formatter=structlog.dev.plain_traceback,
            )
        ]
    )
    # Our own events do not go through `logging`: it takes several times what it takes to write the line.
    structlog.configure(
        processors=[*shared, *rendering],
        logger_factory=_NamedLogger,
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # Their INFO lines say what our own events say already, once per HTTP request.
    for name in ("httpx", "httpx2", "httpcore", "openai", "github", "urllib3", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _NamedLogger(structlog.WriteLogger):
    """Write whole lines to stderr, and know the name of the module that they come from."""

    def __init__(self, name: str = "") -> None:
        super().__init__(sys.stderr)
        self.name = name
