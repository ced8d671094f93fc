"""A plain HTTP server that accepts webhooks, or answers with a chosen status."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One webhook as it came in."""

    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class WebhookReceiver:
    """Remember what was posted; `statuses` are the next answers, then 202."""

    received: list[Received] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    _server: ThreadingHTTPServer = field(init=False)

    def __enter__(self) -> "WebhookReceiver":
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append(Received(headers=dict(self.headers.items()), body=body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 202)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """Return where to post."""
        return f"http://127.0.0.1:{self._server.server_port}/hook"
