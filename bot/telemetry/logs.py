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
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(),
            pad_event_to=0,
            # The pretty tracebacks show local variables, secrets and payloads among them.
            exception_formatter=structlog.dev.plain_traceback,
        )
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info if log_format == "json" else _keep,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    # Their INFO lines say what our own events say already, once per HTTP request.
    for name in ("httpx", "httpx2", "httpcore", "openai", "github", "urllib3", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _keep(_logger: Any, _name: str, event: Any) -> Any:
    return event
