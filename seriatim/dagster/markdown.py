"""Markdown for the Dagster UI: tables, links to runs, and what others wrote shown as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

_LISTED: Final = 3


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; what stands in its cells is Markdown."""
    lines = [header, ["---" for _ in header], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def run_link(run_id: str) -> str:
    """Return a link to a run within the Dagster UI, by the beginning of its id."""
    return f"[{plain(run_id[:8])}](/runs/{quote(run_id, safe='')})"


def listed(texts: Sequence[str]) -> str:
    """Return the first of some texts that others chose, and how many more there are."""
    more = len(texts) - _LISTED
    named = ", ".join(map(plain, texts[:_LISTED]))
    return f"{named} and {more} more" if more > 0 else named


def plain(text: str) -> str:
    """Return a text that others chose so that Markdown shows it as it is, in its cell."""
    escaped = "".join(f"\\{each}" if each in r"\`*_[]#|<>~&" else each for each in text)
    return " ".join(escaped.split())
