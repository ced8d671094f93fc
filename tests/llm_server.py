"""A stand-in for the served model: real HTTP, vLLM 0.32's rules and oddities, answers that the test decides.

    server = LlmServer().start()
    server.will_say([{"line": "1R4", "quote": "check(user)", "message": "The check is gone."}])
    ...
    server.requests[0].prompt
    server.stop()

Every answer is streamed as vLLM streams it, one token per event. Tokens are words, single signs and runs of
white space; the prefix cache, the context limit and `finish_reason: length` are computed from them.
"""

import hashlib
import heapq
import json
import re
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema

FindingDict = dict[str, Any]
Reply = Sequence[FindingDict] | str

BLOCK_TOKENS = 16  # the prefix cache holds whole blocks
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_DEFAULTS: FindingDict = {"severity": "medium", "category": "bug", "message": "Wrong.", "replacement": ""}


def split_tokens(text: str) -> list[str]:
    """Split a text into the tokens that this server counts."""
    return _TOKEN.findall(text)


def render_prompt(messages: Sequence[Mapping[str, str]]) -> str:
    """Put the messages into a chat template."""
    return "".join(f"<|{m['role']}|>{m['content']}<|end|>" for m in messages) + "<|assistant|>"


@dataclass(slots=True, kw_only=True)
class ChatRequest:
    """One request for a completion, as it arrived and how it ended."""

    body: dict[str, Any]
    headers: dict[str, str]
    arrived_at: float
    status: int = 0
    closed_early: bool = False
    ended: threading.Event = field(default_factory=threading.Event)
    ended_at: float = 0.0

    @property
    def priority(self) -> int:
        return int(self.body.get("priority", 0))

    @property
    def request_id(self) -> str:
        return self.headers.get("x-request-id", "")

    @property
    def messages(self) -> list[dict[str, str]]:
        return self.body["messages"]

    @property
    def prompt(self) -> str:
        """All user messages, joined."""
        return "\n".join(m["content"] for m in self.messages if m["role"] == "user")

    @property
    def system_prompt(self) -> str:
        return "\n".join(m["content"] for m in self.messages if m["role"] == "system")


@dataclass(slots=True, kw_only=True)
class Fault:
    """What goes wrong with one request."""

    kind: str
    status: int = 0
    after_chunks: int = 0
    seconds: float = 0.0
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)


class LlmServer:
    """Serve one model on a free port of the loopback interface.

    `max_num_seqs` requests run at once, the others wait by priority and arrival; more than `max_queued` are
    turned away with 503. `accepts_formats` and `accepts_extras` play engines that know less than vLLM.
    """

    def __init__(
        self,
        *,
        model: str = "sandbox-model",
        max_model_len: int = 8192,
        max_num_seqs: int = 256,
        max_queued: int | None = None,
        api_key: str = "",
        accepts_formats: tuple[str, ...] = ("json_schema", "json_object", "text"),
        accepts_extras: bool = True,
    ) -> None:
        self.model = model
        self.max_model_len = max_model_len
        self.max_num_seqs = max_num_seqs
        self.max_queued = max_queued
        self.api_key = api_key
        self.accepts_formats = accepts_formats
        self.accepts_extras = accepts_extras
        self.requests: list[ChatRequest] = []
        self.problems: list[str] = []
        self.in_flight_max = 0
        self.reports_usage = True
        self.reasoning = ""
        self.sse_comments = False
        self._in_flight = 0
        self._queue: list[tuple[int, int]] = []
        self._turn = 0
        self._scripted: deque[Reply] = deque()
        self._standing: Reply = []
        self._answer: Callable[[ChatRequest], Reply] | None = None
        self._faults: deque[Fault] = deque()
        self._loading = 0
        self._cached: set[bytes] = set()
        self._lock = threading.Condition()
        self._stopping = threading.Event()
        self._http: ThreadingHTTPServer | None = None

    # Running

    def start(self) -> "LlmServer":
        """Listen; the address is `base_url`."""
        server = self

        class Handler(_Handler):
            llm = server

        self._http = _HttpServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Stop; fails if a scripted answer was one that the request's own schema does not allow."""
        self._stopping.set()
        with self._lock:
            self._lock.notify_all()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
        assert not self.problems, self.problems

    def __enter__(self) -> "LlmServer":
        return self if self._http else self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """The address without a version, for /health and the like."""
        assert self._http is not None, "start() comes first"
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    # What it says

    def will_say(self, reply: Reply, *, once: bool = True) -> None:
        """Answer the next request with this, or every one: findings (missing fields are filled in) or raw text.

        A finding names its place with `line`, an id, and `quote`, the code there.
        """
        if once:
            self._scripted.append(reply)
        else:
            self._standing = reply

    def answer_with(self, answer: Callable[[ChatRequest], Reply]) -> None:
        """Compute the answer from the request, where nothing is scripted."""
        self._answer = answer

    # What goes wrong; each fault hits the next request that no earlier fault hits

    def fail(self, status: int, times: int = 1, *, message: str = "", retry_after: str = "") -> None:
        """Refuse with this status."""
        headers = {"Retry-After": retry_after} if retry_after else {}
        for _ in range(times):
            self._faults.append(Fault(kind="fail", status=status, message=message, headers=headers))

    def hang(self, after_chunks: int = 0, times: int = 1) -> None:
        """Send the headers and this many events, then nothing until the client leaves. -1: not even headers."""
        self._add("hang", times, after_chunks=after_chunks)

    def drip(self, seconds: float, times: int = 1) -> None:
        """Let this much time pass before each event."""
        self._add("drip", times, seconds=seconds)

    def reset_mid_stream(self, after_chunks: int = 2, times: int = 1) -> None:
        """Break the connection after this many events."""
        self._add("reset", times, after_chunks=after_chunks)

    def end_early(self, after_chunks: int = 2, times: int = 1) -> None:
        """End the stream in good order, but before the answer is complete."""
        self._add("end", times, after_chunks=after_chunks)

    def error_in_stream(self, after_chunks: int = 2, times: int = 1, *, flat: bool = False) -> None:
        """Send an error event under 200, as `{"error": {...}}` or in the older flat form."""
        self._add("flat_error" if flat else "error", times, after_chunks=after_chunks)

    def whitespace_forever(self, after_chunks: int = 2, times: int = 1) -> None:
        """Write white space until the client leaves, if the answer is constrained."""
        self._add("whitespace", times, after_chunks=after_chunks)

    def loading(self, times: int) -> None:
        """Answer this many requests of any kind with 503, as a proxy before a starting engine does."""
        self._loading += times

    def _add(self, kind: str, times: int, **values: Any) -> None:
        self._faults.extend(Fault(kind=kind, **values) for _ in range(times))

    # Called by the handlers

    def take_loading(self) -> bool:
        with self._lock:
            self._loading, was = max(0, self._loading - 1), self._loading
        return was > 0

    def take_fault(self) -> Fault | None:
        with self._lock:
            return self._faults.popleft() if self._faults else None

    def compose(self, request: ChatRequest) -> str:
        """Give the text of the answer; findings are checked against the schema that the request came with."""
        with self._lock:
            reply = self._scripted.popleft() if self._scripted else None
        if reply is None:
            reply = self._answer(request) if self._answer else self._standing
        if isinstance(reply, str):
            return reply
        document = {"findings": [self._fill(finding, request) for finding in reply]}
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)

    def _fill(self, finding: FindingDict, request: ChatRequest) -> FindingDict:
        form = request.body.get("response_format") or {}
        schema = (form.get("json_schema") or {}).get("schema")
        whole = _DEFAULTS | finding
        if not schema:
            return whole
        item = schema["properties"]["findings"]["items"]
        if "quote" not in item["properties"] and "quote" in whole:
            whole["line"] = _print_line(
                whole["line"], whole.pop("quote"), item["properties"]["line"].get("enum", ())
            )
        ordered = {name: whole[name] for name in item["properties"] if name in whole} | whole
        for error in jsonschema.Draft202012Validator(item).iter_errors(ordered):
            # Which line is named is left to the test: an engine without guided decoding may name any.
            if list(error.path) != ["line"]:
                self.problems.append(f"a constrained engine cannot answer {ordered!r}: {error.message}")
        return ordered

    def admit(self, request: ChatRequest, left: Callable[[], bool]) -> bool:
        """Wait for a place among the running requests; False if the queue is full or the client left."""
        with self._lock:
            if self.max_queued is not None and self._in_flight + len(self._queue) >= self.max_queued:
                return False
            self._turn += 1
            ticket = (request.priority, self._turn)
            heapq.heappush(self._queue, ticket)
            while self._in_flight >= self.max_num_seqs or self._queue[0] != ticket:
                self._lock.wait(0.01)
                if left() or self._stopping.is_set():
                    self._queue.remove(ticket)
                    heapq.heapify(self._queue)
                    return False
            heapq.heappop(self._queue)
            self._in_flight += 1
            self.in_flight_max = max(self.in_flight_max, self._in_flight)
            return True

    def release(self) -> None:
        with self._lock:
            self._in_flight -= 1
            self._lock.notify_all()

    def read_cache(self, tokens: Sequence[str]) -> int:
        """Give the tokens of the longest known prefix, and remember this prompt's."""
        # The last token is always computed, since its output is what the first answer token comes from.
        blocks = (len(tokens) - 1) // BLOCK_TOKENS
        digest = hashlib.sha256()
        hits, known = 0, True
        with self._lock:
            for number in range(blocks):
                digest.update("\0".join(tokens[number * BLOCK_TOKENS : (number + 1) * BLOCK_TOKENS]).encode())
                known = known and digest.digest() in self._cached
                hits += known
                self._cached.add(digest.digest())
        return hits * BLOCK_TOKENS

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent: a client that leaves is part of what is tested."""


class _Handler(BaseHTTPRequestHandler):
    llm: LlmServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits for a delayed acknowledgement

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        llm = self.llm
        if llm.take_loading():
            self._refuse(503, "Service Unavailable", "The model is loading.")
        elif self.path == "/health":
            self._send(200, b"", "text/plain")
        elif self.path == "/metrics":
            self._send(
                200, f'vllm:num_requests_running{{engine="0"}} {llm._in_flight}.0\n'.encode(), "text/plain"
            )
        elif self.path == "/v1/models":
            if self._is_authorized():
                card = {"id": llm.model, "object": "model", "owned_by": "vllm", "parent": None}
                self._send_json(
                    200, {"object": "list", "data": [card | {"max_model_len": llm.max_model_len}]}
                )
        else:
            self._send_json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.llm.take_loading():
            self._refuse(503, "Service Unavailable", "The model is loading.")
        elif self.path == "/tokenize":
            text = body.get("prompt") or render_prompt(body["messages"])
            tokens = split_tokens(text)
            answer = {"count": len(tokens), "max_model_len": self.llm.max_model_len, "token_strs": None}
            self._send_json(200, answer | {"tokens": list(range(len(tokens)))})
        elif self.path != "/v1/chat/completions":
            self._send_json(404, {"detail": "Not Found"})
        elif self._is_authorized():
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = ChatRequest(body=body, headers=headers, arrived_at=time.monotonic())
            self.llm.requests.append(request)
            try:
                self._complete(request)
            except (BrokenPipeError, ConnectionResetError):
                request.closed_early = True
            finally:
                request.ended_at = time.monotonic()
                request.ended.set()

    # One completion

    def _complete(self, request: ChatRequest) -> None:
        fault = self.llm.take_fault()
        if fault and fault.kind == "fail":
            self._fail(request, fault)
            return
        if not self._is_valid(request):
            return
        if fault and fault.kind == "hang" and fault.after_chunks < 0:
            self._wait_for_leaving(request)
            return
        if not self.llm.admit(request, self._has_left):
            if self._has_left():
                request.closed_early = True
                self.close_connection = True
                return
            busy = (
                "The engine is currently busy and cannot accept new requests. "
                "Please try again later or on a different instance."
            )
            self._refuse(503, "Service Unavailable", busy, request)
            return
        try:
            self._stream(request, fault)
        finally:
            self.llm.release()

    def _is_valid(self, request: ChatRequest) -> bool:
        llm, body = self.llm, request.body
        if body.get("model") not in (None, llm.model):
            text = f"The model `{body['model']}` does not exist. Valid aliases: {llm.model}."
            return self._refuse(404, "NotFoundError", text, request, param="model")
        extras = {"priority", "repetition_penalty"} & body.keys()
        if extras and not llm.accepts_extras:
            return self._refuse(
                400, "BadRequestError", f"Unrecognized request argument: {min(extras)}", request
            )
        if body.get("stream_options") and not body.get("stream"):
            return self._refuse(
                400, "BadRequestError", "Stream options can only be defined when `stream=True`.", request
            )
        form = body.get("response_format") or {"type": "text"}
        if form["type"] not in llm.accepts_formats:
            text = f"response_format type '{form['type']}' is not supported. (parameter=response_format)"
            return self._refuse(400, "BadRequestError", text, request, param="response_format")
        if form["type"] == "json_schema" and not (form.get("json_schema") or {}).get("schema"):
            text = (
                "When response_format type is 'json_schema', the 'json_schema' field must be provided. "
                "(parameter=response_format)"
            )
            return self._refuse(400, "BadRequestError", text, request, param="response_format")
        return self._fits(request)

    def _fits(self, request: ChatRequest) -> bool:
        limit = self.llm.max_model_len
        wanted = _max_tokens(request)
        if wanted is not None and wanted > limit:
            text = (
                f"max_completion_tokens={wanted} cannot be greater than max_model_len={limit}. "
                f"Please request fewer output tokens. (parameter=max_completion_tokens, value={wanted})"
            )
            return self._refuse(400, "BadRequestError", text, request, param="max_completion_tokens")
        count = len(split_tokens(render_prompt(request.messages)))
        if count >= limit:
            # As vLLM does, which stops counting one token behind the limit.
            text = (
                f"This model's maximum context length is {limit} tokens. However, your prompt contains "
                f"at least {limit + 1} input tokens, which exceeds this limit even without any output tokens. "
                f"Please reduce the length of the input prompt. (parameter=input_tokens, value={limit + 1})"
            )
            return self._refuse(400, "BadRequestError", text, request, param="input_tokens")
        return True

    def _stream(self, request: ChatRequest, fault: Fault | None) -> None:
        llm = self.llm
        prompt = split_tokens(render_prompt(request.messages))
        cached = llm.read_cache(prompt)
        tokens = split_tokens(llm.compose(request))
        thoughts = split_tokens(llm.reasoning)
        # vLLM clamps the budget to what is left of the context, without a word.
        budget = min(_max_tokens(request) or llm.max_model_len, llm.max_model_len - len(prompt))
        finish = "stop"
        if len(tokens) > budget:
            tokens, finish = tokens[:budget], "length"

        deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning": token} for token in thoughts]
        deltas += [{"content": token} for token in tokens]
        request.status = 200
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, delta in enumerate(deltas):
            if fault and self._strike(request, fault, number):
                return
            last = number == len(deltas) - 1
            self._send_event(request, {"choices": [_choice(delta, finish if last else None)]})
        hangs_after_usage = fault and fault.kind == "hang" and fault.after_chunks > len(deltas)
        strikes_at_end = fault and fault.kind != "drip" and not hangs_after_usage
        if fault and strikes_at_end and self._strike(request, fault, fault.after_chunks):
            return
        if llm.reports_usage and (request.body.get("stream_options") or {}).get("include_usage"):
            written = len(tokens) + len(thoughts)
            usage = {"prompt_tokens": len(prompt), "completion_tokens": written}
            details = {"cached_tokens": cached, "created_cache_tokens": len(prompt) - cached}
            total = {"total_tokens": len(prompt) + written, "prompt_tokens_details": details}
            self._send_event(request, {"choices": [], "usage": usage | total})
        if fault and hangs_after_usage:
            self._wait_for_leaving(request)
            return
        self._send_data("data: [DONE]\n\n")
        self._send_data("")

    def _strike(self, request: ChatRequest, fault: Fault, number: int) -> bool:
        """Let the fault happen if its time has come; True if that was the end of the answer."""
        if fault.kind == "drip":
            if self._sleep(fault.seconds):
                raise ConnectionResetError
            return False
        if number < fault.after_chunks:
            return False
        constrained = (request.body.get("response_format") or {}).get("type") in (
            "json_schema",
            "json_object",
        )
        if fault.kind == "whitespace":
            if not constrained:
                return False
            while not self.llm.stopping:
                self._send_event(request, {"choices": [_choice({"content": " \n" * 5}, None)]})
                time.sleep(0.001)
        elif fault.kind == "hang":
            self._wait_for_leaving(request)
        elif fault.kind in ("error", "flat_error"):
            error = {
                "message": "Internal server error",
                "type": "InternalServerError",
                "param": None,
                "code": 500,
            }
            self._send_event(request, error if fault.kind == "flat_error" else {"error": error}, bare=True)
            self._send_data("data: [DONE]\n\n")
            self._send_data("")
        elif fault.kind == "end":
            self._send_data("")
        elif fault.kind == "reset":
            # Linger of zero makes the close a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            self.connection.close()
        return True

    def _send_event(self, request: ChatRequest, event: dict[str, Any], *, bare: bool = False) -> None:
        if self._has_left():
            raise ConnectionResetError
        envelope: dict[str, Any] = (
            {}
            if bare
            else {
                "id": f"chatcmpl-{request.request_id or 'none'}",
                "object": "chat.completion.chunk",
                "created": 1796000000,
                "model": self.llm.model,
            }
        )
        comment = ": keep-alive\n\n" if self.llm.sse_comments else ""
        self._send_data(f"{comment}data: {json.dumps(envelope | event, ensure_ascii=False)}\n\n")

    def _send_data(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    # The client's going

    def _has_left(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _sleep(self, seconds: float) -> bool:
        """Wait; True at once if the client leaves meanwhile."""
        readable, _, _ = select.select([self.connection], [], [], seconds)
        return bool(readable) and self._has_left()

    def _wait_for_leaving(self, request: ChatRequest) -> None:
        while not self.llm.stopping:
            if self._sleep(0.02):
                request.closed_early = True
                break
        self.close_connection = True

    # Plain answers

    def _is_authorized(self) -> bool:
        if self.llm.api_key and self.headers.get("authorization") != f"Bearer {self.llm.api_key}":
            self._send_json(401, {"error": "Unauthorized"})
            return False
        return True

    def _fail(self, request: ChatRequest, fault: Fault) -> None:
        if fault.status == 401:
            request.status = 401
            self._send_json(401, {"error": "Unauthorized"})
            return
        text = fault.message or f"Failed on purpose with {fault.status}."
        self._refuse(fault.status, "InternalServerError", text, request, headers=fault.headers)

    def _refuse(
        self,
        status: int,
        kind: str,
        message: str,
        request: ChatRequest | None = None,
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bool:
        if request is not None:
            request.status = status
        error = {"message": message, "type": kind, "param": param, "code": status}
        self._send_json(status, {"error": error}, headers or {})
        return False

    def _send_json(self, status: int, document: object, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, json.dumps(document).encode(), "application/json", headers or {})

    def _send(self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _print_line(line_id: str, quote: str, choices: Sequence[str]) -> str:
    """Give a line as the prompt prints it: the real one if the quote is on it, else what the test makes up."""
    for choice in choices:
        if choice.startswith(f"{line_id} ") and quote.strip() in choice:
            return choice
    return f"{line_id} {'-' if 'L' in line_id else '+'}{quote}"


def _choice(delta: dict[str, str], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _max_tokens(request: ChatRequest) -> int | None:
    value = request.body.get("max_completion_tokens") or request.body.get("max_tokens")
    return int(value) if value is not None else None
