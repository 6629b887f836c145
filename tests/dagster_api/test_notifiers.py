"""The notifiers: an alert in the log, and at an address that takes JSON, which is never shown."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import dagster as dg
import pytest

from seriatim.dagster import Alert, AlertNotSentError, LogNotifier, WebhookNotifier, alert_sensor
from seriatim.dagster.alerts import Limit, Measure
from seriatim.system import SystemClock
from tests.dagster_api.accounts import TABLE_KEY
from tests.dagster_api.event_log import NOON_MS, conflict, emit
from tests.faults.clock import ManualClock

ALERT = Alert("bank/account", Limit(Measure.CONFLICTS, 2, 60), NOON_MS, 3, 1, 9, ("loser",))


class Endpoint(ThreadingHTTPServer):
    """A server on loopback that answers each POST with a status, and keeps what it got."""

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = status
        self.got: list[tuple[str, str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook/secret"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", "/login")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # Its name there.
        del format, args


@contextmanager
def serving(status: int = 204) -> Iterator[Endpoint]:
    with Endpoint(status) as endpoint:
        thread = Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield endpoint
        finally:
            endpoint.shutdown()
            thread.join()


def test_the_webhook_gets_a_text_and_the_values() -> None:
    with serving() as endpoint:
        WebhookNotifier(url=endpoint.url).notify(ALERT)

    ((path, content_type, body),) = endpoint.got
    assert (path, content_type) == ("/hook/secret", "application/json")
    assert body["text"] == ALERT.sentence()
    assert (body["alert_id"], body["conflicts"], body["limit"]) == (f"bank/account/conflicts@{NOON_MS}", 3, 2)
    assert (body["begins_at"], body["ends_at"]) == ("2026-09-21T14:13:20.000Z", "2026-09-21T14:14:20.000Z")


@pytest.mark.parametrize("status", [302, 404, 500])
def test_an_answer_that_is_none_of_success_means_that_it_is_not_told(status: int) -> None:
    """A redirect would be followed by a GET, which tells nobody anything."""
    with serving(status) as endpoint, pytest.raises(AlertNotSentError, match=f"it answered {status}") as raised:
        WebhookNotifier(url=endpoint.url).notify(ALERT)

    assert "secret" not in str(raised.value)


def test_nobody_there_and_nobody_who_answers_are_told_without_the_address() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()  # It takes the request and never answers.
        with pytest.raises(AlertNotSentError, match="timed out") as raised:
            WebhookNotifier(url=f"http://127.0.0.1:{silent.getsockname()[1]}/secret", timeout_s=0.1).notify(ALERT)
        port = silent.getsockname()[1]
    with pytest.raises(AlertNotSentError, match="refused") as refused:
        WebhookNotifier(url=f"http://127.0.0.1:{port}/secret").notify(ALERT)

    assert "secret" not in f"{raised.value} {refused.value}"


@pytest.mark.parametrize(
    "url", ["", "ftp://host/secret", "file:///secret", "host/secret", "http://host:secret/", "http:///x"]
)
def test_what_is_no_address_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(AlertNotSentError) as raised:
        WebhookNotifier(url=url).notify(ALERT)

    assert "secret" not in str(raised.value)


def test_the_log_gets_the_sentence(caplog: pytest.LogCaptureFixture) -> None:
    LogNotifier().notify(ALERT)

    assert [(record.levelname, record.message) for record in caplog.records] == [("WARNING", ALERT.sentence())]


def test_a_sensor_posts_to_the_address_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the event log to the endpoint; what the tick says does not hold the address when the endpoint fails."""
    clock = ManualClock()
    clock.seconds = NOON_MS / 1000 + 5
    sensor = alert_sensor(name="alert", asset_key=TABLE_KEY, conflicts_max=0, clock=clock)
    said = []
    with dg.DagsterInstance.ephemeral() as instance:
        emit(instance, conflict(1))
        cursor: str | None = None
        for status in (500, 200, 200):
            with serving(status) as endpoint:
                monkeypatch.setenv("ALERT_URL", endpoint.url)
                resources = {"notifier": WebhookNotifier(url=dg.EnvVar("ALERT_URL"))}
                tick = sensor.evaluate_tick(
                    dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources)
                )
            cursor = tick.cursor
            said.append(f"{tick.skip_message} {len(endpoint.got)}")

    assert [each[-1] for each in said] == ["1", "1", "0"]
    assert "it answered 500" in said[0]
    assert "secret" not in said[0]


@pytest.mark.slow
def test_by_default_the_time_is_the_machines() -> None:
    """A conflict that is logged now is counted by a tick now, in an instance that is kept in files."""
    sensor = alert_sensor(name="alert", asset_key=TABLE_KEY, conflicts_max=0)
    with dg.instance_for_test() as instance:
        now_s = SystemClock().now_ms() / 1000 - NOON_MS / 1000
        emit(instance, conflict(now_s))
        tick = sensor.evaluate_tick(dg.build_sensor_context(instance=instance, resources={"notifier": LogNotifier()}))

    assert "1 conflicts (more than 0)" in (tick.skip_message or "")
