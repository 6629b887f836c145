"""A small real REST catalog on loopback, which PyIceberg's own RestCatalog talks to, and which loses replies by script.

Behind it stands a `FaultyCatalog`, so that a commit over HTTP lands when the script says: before the reply, at the next
load, after the next commit, or never. What the client hears instead of the truth is a `Reply`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from functools import partial
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableRequest, CommitTableResponse, Table
from pyiceberg.table.sorting import SortOrder
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import ReadTimeout

from tests.faults.catalog import FaultyCatalog
from tests.faults.http_handler import Handler

WAIT_S_MAX: Final = 60.0  # For an event that is bound to come; reaching it fails the test.
PATIENCE_S: Final = 0.05  # How long a client waits that is never answered.

ENDPOINTS: Final = (  # What the server can do; PyIceberg 0.11 and later ask nothing else of it.
    "GET /v1/{prefix}/namespaces",
    "POST /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "DELETE /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "POST /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}",
)

_STATUS_OF: Final = {
    NoSuchNamespaceError: 404,
    NoSuchTableError: 404,
    NamespaceAlreadyExistsError: 409,
    NamespaceNotEmptyError: 409,
    TableAlreadyExistsError: 409,
    CommitFailedException: 409,
}


class Reply(Exception):  # noqa: N818  (It is scripted as what a commit raises, and no error.)
    """What the client of a commit hears instead of the truth."""


class Status(Reply):
    """An answer with that HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}, scripted")
        self.status = status


class Dropped(Reply):
    """No answer: the connection is closed."""


class Silence(Reply):
    """No answer, on a connection that stays open until the client has had enough."""

    def __init__(self) -> None:
        super().__init__("silence, scripted")
        self.is_decided, self.is_given_up = threading.Event(), threading.Event()


class Replayed(Reply):
    """A proxy in between sends the request again, and the client hears the answer to that one."""


# How HTTP says that it does not know, or claims to know; each call makes a new reply.
REPLIES: Final[dict[str, Callable[[], Reply]]] = {
    **{f"HTTP {status}": partial(Status, status) for status in (400, 409, 419, 500, 502, 503, 504)},
    "dropped": Dropped,
    "timeout": Silence,
    "replayed": Replayed,
}


class Backing(FaultyCatalog):
    """The catalog behind the server."""

    def peek(self, identifier: str | tuple[str, ...]) -> Table:
        """Load a table for the server's own use: nothing lands because of it, and it is not counted."""
        return SqlCatalog.load_table(self, identifier)

    @property
    def silence(self) -> Silence | None:
        """What the next commit will be answered with, if that is nothing."""
        fault = self._script[0] if self._script else None
        return fault.error if fault is not None and isinstance(fault.error, Silence) else None


class RestServer:
    """An Iceberg REST catalog that serves `backing` on a free port of the loopback, until the `with` block ends.

    `commits` counts the commit requests that arrived, each copy of a replayed one.
    """

    def __init__(self, backing: Backing) -> None:
        self.backing = backing
        self.commits = 0
        self.asked: list[str] = []  # method and path of each request
        self.prefix = ""  # what clients are told to put into each path
        self._clients: list[RestCatalog] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.rest = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> RestServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for client in self._clients:
            session_of(client).close()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def uri(self) -> str:
        """Where the server listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def connect(self, **properties: str) -> RestCatalog:
        """Return a new client: PyIceberg's own, but for a limit on how long it waits for an answer that never comes."""
        client = RestCatalog("rest", uri=self.uri, **properties)
        session_of(client).mount(self.uri, _Impatient(self))
        self._clients.append(client)
        return client


def session_of(client: RestCatalog) -> Session:
    """Return the HTTP session of a client. It has no public name, and no version has a setting for a time-out."""
    session: Session = client._session
    return session


class _Impatient(HTTPAdapter):
    """Gives up on a commit that is scripted to get no answer, once the server has decided what becomes of it.

    The time-out is the real one, of the socket; that the server has decided by then is no matter of time.
    """

    def __init__(self, server: RestServer) -> None:
        super().__init__()
        self._server = server

    def send(self, request: PreparedRequest, *args: Any, **options: Any) -> Response:
        silence = self._server.backing.silence if request.method == "POST" else None
        if silence is None:
            return super().send(request, *args, **options)
        try:
            return super().send(request, *args, **{**options, "timeout": PATIENCE_S})
        except ReadTimeout:
            if not silence.is_decided.wait(WAIT_S_MAX):
                raise AssertionError("the server never came to a decision") from None
            raise
        finally:
            silence.is_given_up.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    rest: RestServer


class _Answer(Exception):  # noqa: N818  (A way out with a status, for what PyIceberg has no exception for.)
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(Handler):
    server: _Server

    @property
    def _backing(self) -> Backing:
        return self.server.rest.backing

    def serve(self) -> None:
        self.server.rest.asked.append(f"{self.command} {self.path}")
        body = self.read_body()
        try:
            status, text = 200, self._route(body)
        except Dropped:
            self.hang_up()
            return
        except Silence as silence:
            silence.is_decided.set()
            silence.is_given_up.wait(WAIT_S_MAX)
            self.hang_up()
            return
        except Exception as err:  # noqa: BLE001  (A server answers whatever happens.)
            status = err.status if isinstance(err, Status | _Answer) else _STATUS_OF.get(type(err), 500)
            text = json.dumps({"error": {"message": str(err), "type": type(err).__name__, "code": status}})
        self.answer(status, [("Content-Type", "application/json")], text.encode())

    def _route(self, body: bytes) -> str:
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.removeprefix("/v1/").split("/")]
        prefix = self.server.rest.prefix
        if parts == ["config"]:
            overrides = {"prefix": prefix} if prefix else {}
            return json.dumps({"defaults": {}, "overrides": overrides, "endpoints": ENDPOINTS})
        if prefix and parts.pop(0) != prefix:
            raise _Answer(404, f"the path lacks the prefix {prefix}")
        match self.command, parts:
            case "POST", ["namespaces", namespace, "tables", table]:
                return self._commit((*_levels(namespace), table), body)
            case _, ["namespaces", namespace, "tables", table]:
                snapshots = parse_qs(url.query).get("snapshots", ["all"])[0]
                return self._table((*_levels(namespace), table), snapshots)
            case _, ["namespaces", namespace, "tables"]:
                return self._tables(_levels(namespace), body)
            case _, ["namespaces", *namespace]:
                return self._namespaces([_levels(each) for each in namespace], body)
        raise _Answer(404, f"nothing at {self.path}")

    def _namespaces(self, named: list[tuple[str, ...]], body: bytes) -> str:
        match self.command, named:
            case "GET", []:
                return json.dumps({"namespaces": self._backing.list_namespaces()})
            case "POST", []:
                request = json.loads(body)
                self._backing.create_namespace(tuple(request["namespace"]), request.get("properties") or {})
                return json.dumps({"namespace": request["namespace"], "properties": {}})
            case "GET", [namespace]:
                properties = dict(self._backing.load_namespace_properties(namespace))
                return json.dumps({"namespace": namespace, "properties": properties})
            case "DELETE", [namespace]:
                self._backing.drop_namespace(namespace)
                return ""
        raise _Answer(405, f"no {self.command} at {self.path}")

    def _tables(self, namespace: tuple[str, ...], body: bytes) -> str:
        if self.command == "GET":
            names = self._backing.list_tables(namespace)
            return json.dumps({"identifiers": [{"namespace": name[:-1], "name": name[-1]} for name in names]})
        if self.command != "POST":
            raise _Answer(405, f"no {self.command} at {self.path}")
        request = json.loads(body)
        if request.get("stage-create"):
            raise _Answer(501, "staged creation is not implemented")
        created = self._backing.create_table(
            (*namespace, request["name"]),
            Schema.model_validate(request["schema"]),
            location=request.get("location"),
            partition_spec=PartitionSpec.model_validate(request.get("partition-spec") or {"spec-id": 0, "fields": []}),
            sort_order=SortOrder.model_validate(request.get("write-order") or {"order-id": 0, "fields": []}),
            properties=request.get("properties") or {},
        )
        return _described(created.metadata_location, created.metadata.model_dump_json())

    def _table(self, identifier: tuple[str, ...], snapshots: str) -> str:
        if self.command == "DELETE":
            self._backing.drop_table(identifier)
            return ""
        if self.command == "HEAD":
            self._backing.peek(identifier)
            return ""
        table = self._backing.load_table(identifier)
        metadata = table.metadata.model_dump_json()
        return _described(table.metadata_location, metadata if snapshots == "all" else _with_referenced_only(metadata))

    def _commit(self, identifier: tuple[str, ...], body: bytes) -> str:
        request = CommitTableRequest.model_validate_json(body)
        try:
            answer = self._land(identifier, request)
        except Replayed:
            answer = self._land(identifier, request)
        return _described(answer.metadata_location, answer.metadata.model_dump_json())

    def _land(self, identifier: tuple[str, ...], request: CommitTableRequest) -> CommitTableResponse:
        self.server.rest.commits += 1
        return self._backing.commit_table(self._backing.peek(identifier), request.requirements, request.updates)


def _levels(namespace: str) -> tuple[str, ...]:
    return tuple(namespace.split("\x1f"))


def _described(location: str, metadata: str) -> str:
    return f'{{"metadata-location": {json.dumps(location)}, "metadata": {metadata}, "config": {{}}}}'


def _with_referenced_only(metadata: str) -> str:
    """Return the metadata as a server gives it that is asked for the snapshots of branches and tags alone."""
    content = json.loads(metadata)
    referenced = {ref["snapshot-id"] for ref in content.get("refs", {}).values()}
    content["snapshots"] = [each for each in content.get("snapshots", []) if each["snapshot-id"] in referenced]
    return json.dumps(content)
