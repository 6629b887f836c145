"""Where alerts go: anything with a `notify`; here, the log, and an address that takes JSON."""

from __future__ import annotations

import json
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, Final, Protocol
from urllib.error import HTTPError
from urllib.parse import urlsplit

import dagster as dg
from pydantic import Field

from seriatim.dagster.alerts import Alert
from seriatim.dagster.errors import AlertNotSentError
from seriatim.times import iso

_LOSERS: Final = 10  # named in a message


class Notifier(Protocol):
    """Tells somebody of an alert."""

    def notify(self, alert: Alert) -> None:
        """Return when it is told; an exception means that it is not, and it will be asked for again."""
        ...


class LogNotifier(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Writes alerts as warnings to Dagster's log: that of the process in which the sensor is evaluated."""

    def notify(self, alert: Alert) -> None:
        """Write it."""
        dg.get_dagster_logger("seriatim.alerts").warning(alert.sentence())


class WebhookNotifier(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Posts alerts as JSON: `text` for people (as Slack and Mattermost take it), and the values for machines.

    Who has such an address can post to it, so give it by `dg.EnvVar("NAME")`: it is neither shown nor logged then.
    """

    url: str = Field(description="Where to: https://... (dg.EnvVar)")
    timeout_s: float = Field(default=10.0, gt=0, description="How long an answer may take.")

    def notify(self, alert: Alert) -> None:
        """Post it once.

        Raises:
            AlertNotSentError: the answer was none of success (2xx), or there was none in time.
        """
        place = urlsplit(self.url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise AlertNotSentError(alert.alert_id, "the webhook", reason="its url is not http(s)://host/...")
        request = urllib.request.Request(  # noqa: S310  # The scheme has just been looked at.
            self.url, json.dumps(as_json(alert)).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self.timeout_s):
                pass
        except HTTPError as err:
            err.close()
            raise AlertNotSentError(alert.alert_id, place.hostname, reason=f"it answered {err.code}") from None
        except (OSError, HTTPException, ValueError) as err:  # Those of a bad address hold it, so only their type.
            raise AlertNotSentError(alert.alert_id, place.hostname, reason=_reason(err)) from None


def as_json(alert: Alert) -> dict[str, Any]:
    """Return an alert as the webhook gets it."""
    return {
        "text": alert.sentence(),
        "alert_id": alert.alert_id,
        "asset_key": alert.asset_key,
        "measure": alert.limit.measure.value,
        "limit": alert.limit.most,
        "window_s": alert.limit.window_s,
        "begins_at": iso(alert.begins_at_ms),
        "ends_at": iso(alert.ends_at_ms),
        "conflicts": alert.conflicts,
        "attempts_lost_max": alert.attempts_lost_max,
        "wasted_ms": alert.wasted_ms,
        "losers": list(alert.losers[:_LOSERS]),
    }


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A POST that is redirected becomes a GET without the alert, which would look like success."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow none."""
        del req, fp, code, msg, headers, newurl


def _reason(err: Exception) -> str:
    cause = getattr(err, "reason", err)  # What URLError is about.
    return f"{cause}" if isinstance(cause, OSError) else type(err).__name__
