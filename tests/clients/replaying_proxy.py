"""An HTTP proxy that sends commit requests to the server more than once, or late, and loses answers, by script.

What replays here is outside of the client and of the server: both are real, and neither knows of it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit

from tests.faults.http_handler import Handler

WAIT_S_MAX: Final = 60.0  # For an answer of the server, which is bound to come.
_OF_ONE_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"})


class Sent(Enum):
    """When a copy of a commit request reaches the server."""

    AT_ONCE = auto()
    AFTER_MEANWHILE = auto()
    BEFORE_NEXT = auto()  # commit request, whoever makes it
    AFTER_NEXT = auto()
    AT_THE_END = auto()  # at `deliver`


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Passage:
    """How one commit request passes: when each copy is sent, and what the client hears.

    `heard` is the copy whose answer the client gets, or an HTTP status that is an invention of the proxy's (None: the
    connection is dropped). `meanwhile` runs after the copies that are sent at once.
    """

    copies: tuple[Sent, ...]
    heard: int | None
    meanwhile: Callable[[], object] = _nothing


HONEST: Final = Passage((Sent.AT_ONCE,), heard=0)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class ReplayingProxy:
    """Stands before `upstream` on a free port of the loopback, until the `with` block ends.

    `is_commit(method, path, headers)` tells the requests that the script is about. `habit` says how those pass for
    which nothing is scripted. `statuses` holds what the server answered to each copy, in the order of the answers.
    """

    def __init__(
        self,
        upstream: str,
        is_commit: Callable[[str, str, Mapping[str, str]], bool],
        habit: Callable[[], Passage] = lambda: HONEST,
    ) -> None:
        self.is_commit, self.habit = is_commit, habit
        self.statuses: list[int] = []
        self.requests = 0  # commit requests that clients made
        self._upstream = urlsplit(upstream)
        self._script: deque[Passage] = deque()
        self._late: list[tuple[Sent, _Request]] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> ReplayingProxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def uri(self) -> str:
        """Where the proxy listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def is_done(self) -> bool:
        """Whether everything scripted has happened: a test whose replay never came has shown nothing."""
        return not self._script

    def script(self, *passages: Passage) -> None:
        """Say how the next commit requests pass, in order."""
        self._script.extend(passages)

    def deliver(self) -> None:
        """Send every copy now that is still on its way."""
        self._send_late(Sent)

    def pass_on(self, request: _Request) -> _Answer | None:
        """Do with a request what the script says; None: the client gets no answer."""
        if not self.is_commit(request.method, request.path, request.headers):
            return self._send(request)
        with self._lock:
            self.requests += 1
            passage = self._script.popleft() if self._script else self.habit()
        self._send_late({Sent.BEFORE_NEXT})
        with self._lock:
            overdue, self._late = self._late, []
        answer = self._pass_commit(request, passage)
        with self._lock:
            self._late = overdue + self._late
        self._send_late({Sent.AFTER_NEXT}, overdue)
        return answer

    def _pass_commit(self, request: _Request, passage: Passage) -> _Answer | None:
        answers = [self._send_counted(request) for copy in passage.copies if copy is Sent.AT_ONCE]
        passage.meanwhile()
        answers += [self._send_counted(request) for copy in passage.copies if copy is Sent.AFTER_MEANWHILE]
        with self._lock:
            self._late += [
                (copy, request) for copy in passage.copies if copy not in (Sent.AT_ONCE, Sent.AFTER_MEANWHILE)
            ]
        if passage.heard is None:
            return None
        return answers[passage.heard] if passage.heard < len(answers) else _Answer(passage.heard)

    def _send_late(self, when: Iterable[Sent], among: Iterable[tuple[Sent, _Request]] | None = None) -> None:
        with self._lock:
            due = [late for late in (self._late if among is None else among) if late[0] in when]
            self._late = [late for late in self._late if late not in due]
        for _, request in due:
            self._send_counted(request)

    def _send_counted(self, request: _Request) -> _Answer:
        answer = self._send(request)
        self.statuses.append(answer.status)
        return answer

    def _send(self, request: _Request) -> _Answer:
        connection = HTTPConnection(str(self._upstream.hostname), self._upstream.port, timeout=WAIT_S_MAX)
        try:
            connection.request(request.method, request.path, request.body, dict(request.headers))
            response = connection.getresponse()
            headers = tuple((name, value) for name, value in response.getheaders() if name.lower() not in _OF_ONE_HOP)
            return _Answer(response.status, headers, response.read())
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    proxy: ReplayingProxy


class _Handler(Handler):
    server: _Server

    def serve(self) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_ONE_HOP}
        answer = self.server.proxy.pass_on(_Request(self.command, self.path, headers, self.read_body()))
        if answer is None:
            self.hang_up()
        else:
            self.answer(answer.status, answer.headers, answer.body)
