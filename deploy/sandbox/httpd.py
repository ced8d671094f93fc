"""Serve a WSGI application on loopback from a background thread."""

import threading

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from deploy.sandbox.recording import App


class _QuietHandler(WSGIRequestHandler):
    """Serve without writing a line to stderr for each request."""

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing: the recorder knows every request."""


class BackgroundServer:
    """One threaded HTTP server, one request per connection."""

    def __init__(self, app: App, *, host: str, port: int) -> None:
        self._server: BaseWSGIServer = make_server(
            host, port, app, threaded=True, request_handler=_QuietHandler
        )
        self.url = f"http://{host}:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name=f"sandbox {self.url}"
        )
        self._thread.daemon = True

    def start(self) -> None:
        """Start to answer; the port is bound already, so no request is refused."""
        self._thread.start()

    def stop(self) -> None:
        """Stop to answer and free the port."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
