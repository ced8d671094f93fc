"""Record every request to a sandbox, and answer some of them wrongly on purpose."""

import io
import json
import re
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from werkzeug.test import run_wsgi_app
from werkzeug.wrappers import Response

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
App = Callable[[Environ, StartResponse], Iterable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """One request and its answer; `path` is still percent-encoded and without the API's prefix.

    `status` is 0 if the connection was dropped instead of answered.
    """

    method: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes
    status: int
    response_body: bytes

    def json(self) -> Any:
        """Decode the request's body."""
        return json.loads(self.body)


@dataclass(slots=True, kw_only=True)
class Fault:
    """A wrong answer waiting for a matching request.

    `status` None gives the right answer, only `delay_s` later. With `after_storing` the request takes effect
    before the faulty answer is sent.
    """

    method: str
    path: re.Pattern[str]
    times: int
    status: int | None
    body: bytes
    headers: dict[str, str]
    after_storing: bool
    delay_s: float
    drop_connection: bool


@dataclass(slots=True)
class Recorder:
    """WSGI middleware that records requests below `prefix` and applies faults to them."""

    app: App
    prefix: str
    requests: list[RecordedRequest] = field(default_factory=list)
    observers: list[Callable[[RecordedRequest], object]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_fault(
        self,
        method: str,
        path_regex: str,
        *,
        times: int,
        status: int | None,
        body: object,
        headers: dict[str, str] | None,
        after_storing: bool,
        delay_s: float,
        drop_connection: bool,
    ) -> None:
        """Queue a fault for the next `times` matching requests; `path_regex` is searched for in the path."""
        encoded, content_type = _fault_body(body, status)
        self.faults.append(
            Fault(
                method=method.upper(),
                path=re.compile(path_regex),
                times=times,
                status=status,
                body=encoded,
                headers={"Content-Type": content_type} | (headers or {}),
                after_storing=after_storing,
                delay_s=delay_s,
                drop_connection=drop_connection,
            )
        )

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Serve one request."""
        raw_path, _, raw_query = environ["REQUEST_URI"].partition("?")
        if not raw_path.startswith(self.prefix):
            return self.app(environ, start_response)
        path = raw_path.removeprefix(self.prefix)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        method = environ["REQUEST_METHOD"]
        fault = self._take_fault(method, path)
        response = self._answer(environ, body, fault)
        # Recorded and observed before the answer leaves: a test may look as soon as its call returns.
        record = RecordedRequest(
            method=method,
            path=path,
            query=parse_qsl(raw_query, keep_blank_values=True),
            headers=_headers(environ),
            body=body,
            status=response.status_code if response else 0,
            response_body=response.get_data() if response else b"",
        )
        with self._lock:
            self.requests.append(record)
        for observe in self.observers:
            observe(record)
        if response is None:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            raise ConnectionAbortedError("dropped on purpose")
        return response(environ, start_response)

    def _answer(self, environ: Environ, body: bytes, fault: Fault | None) -> Response | None:
        stored = None
        if fault is None or fault.after_storing:
            stored = self._call(environ, body)
        if fault is None:
            return stored
        self.stopping.wait(fault.delay_s)
        if fault.drop_connection:
            return None
        if fault.status is None:
            return stored or self._call(environ, body)
        return Response(fault.body, status=fault.status, headers=fault.headers)

    def _call(self, environ: Environ, body: bytes) -> Response:
        content, status, headers = run_wsgi_app(
            self.app, environ | {"wsgi.input": io.BytesIO(body)}, buffered=True
        )
        has_type = "Content-Type" in headers
        response = Response(content, status, headers)
        if not has_type:  # an answer without a body has none, and gets none here
            del response.headers["Content-Type"]
        return response

    def _take_fault(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.method == method and fault.path.search(path):
                    fault.times -= 1
                    if fault.times <= 0:
                        self.faults.remove(fault)
                    return fault
        return None


def _fault_body(body: object, status: int | None) -> tuple[bytes, str]:
    if isinstance(body, bytes | str):
        return (body.encode() if isinstance(body, str) else body), "text/html; charset=utf-8"
    if body is not None:
        return json.dumps(body).encode(), "application/json; charset=utf-8"
    phrase = HTTPStatus(status).phrase if status else ""
    if status and status >= 500:  # a proxy's page, not the API's JSON: what an outage really looks like
        return f"<html><head><title>{status} {phrase}</title></head></html>".encode(), "text/html"
    return json.dumps({"message": phrase, "status": str(status)}).encode(), "application/json; charset=utf-8"


def _headers(environ: Environ) -> dict[str, str]:
    names = {key[5:]: key for key in environ if key.startswith("HTTP_")}
    names |= {key: key for key in ("CONTENT_TYPE", "CONTENT_LENGTH") if environ.get(key)}
    return {name.replace("_", "-").title(): str(environ[key]) for name, key in names.items()}
