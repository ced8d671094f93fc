"""How gunicorn serves the web process. https://docs.gunicorn.org/en/stable/settings.html"""

import gc
import sys

from bot.settings import load_settings

_settings = load_settings()

bind = f"{_settings.web_host}:{_settings.web_port}"
# Threads, since a request waits for the database, and those that wait together are stored together. Two
# processes, so that one may restart.
worker_class = "gthread"
workers = 2
threads = 8
# A thread that comes back from the database waits this long at most, in seconds, for one that computes;
# Python's own 5 ms, several times per transaction, would make all others wait for the one that stores.
sys.setswitchinterval(0.0005)
keepalive = 5
# A webhook must be answered within 10 s or the forge counts it as failed.
timeout = 30
graceful_timeout = 30
# The application is loaded after the fork: database connections must not be shared between processes.
preload_app = False
# Our own log has a line for each delivery; an access log would only repeat it.
accesslog = None
control_socket_disable = True


def post_worker_init(_worker: object) -> None:
    """Keep the garbage collector from going through everything that was imported, again and again.

    A payload is hundreds of small objects, all freed by counting; with Python's own limits each of them sets
    off a collection.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
