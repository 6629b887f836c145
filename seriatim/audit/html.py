"""The verdict as one HTML file that needs nothing else: a timeline of commits and conflicts, anomalies in red."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Final

from seriatim.audit.invariants import Invariant
from seriatim.audit.verdict import Anomaly, JudgedCommit, Status, Unjudged, Verdict
from seriatim.conflict_events import ConflictEvent

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COMMITS_MAX: Final = 5_000
_NAMES_MAX: Final = 6
_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5d6b7a; --line: #d7dee6; --page: #fff; --card: #f5f7fa;
  --red: #b3261e; --redcard: #fdeceb; --amber: #8a5a00; --ambercard: #fff4dd; --green: #1b6e3c; --greencard: #e7f5ec;
  --blue: #2459a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --soft: #9aa7b5; --line: #35404c; --page: #14191f;
  --card: #1c232b; --red: #ff8a80; --redcard: #3b1a18; --amber: #ffc766; --ambercard: #352a12; --green: #7fd6a0;
  --greencard: #15301f; --blue: #8ab4f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 64rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .8rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); }
code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.verdict { display: inline-block; padding: .25rem .8rem; border-radius: 1rem; font-weight: 600; margin: .6rem 0; }
.anomalies { background: var(--redcard); color: var(--red); }
.clean { background: var(--greencard); color: var(--green); }
.unknown { background: var(--ambercard); color: var(--amber); }
.card { border-left: 4px solid var(--line); background: var(--card); border-radius: 4px; padding: .7rem 1rem;
  margin: .6rem 0; }
.card.red { border-color: var(--red); background: var(--redcard); } .card.amber { border-color: var(--amber);
  background: var(--ambercard); }
.red b, .red .kind { color: var(--red); } .amber b { color: var(--amber); }
.line { position: relative; margin-left: .5rem; padding-left: 1.6rem; border-left: 2px solid var(--line); }
.event { position: relative; padding: .35rem 0 .55rem; }
.event::before { content: ""; position: absolute; left: calc(-1.6rem - 7px); top: .75rem; width: 12px; height: 12px;
  border-radius: 50%; background: var(--green); border: 2px solid var(--page); }
.event.foreign::before { background: var(--soft); border-radius: 2px; }
.event.conflict::before { background: var(--blue); transform: rotate(45deg); border-radius: 0; }
.event.amber::before { background: var(--amber); } .event.red::before { background: var(--red); width: 16px;
  height: 16px; left: calc(-1.6rem - 9px); }
.head { display: flex; flex-wrap: wrap; gap: .2rem 1rem; align-items: baseline; }
.head time { font-variant-numeric: tabular-nums; color: var(--soft); }
.legend span { margin-right: 1.2rem; white-space: nowrap; }
.dot { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: .35rem; }
a { color: inherit; }
"""


def html_report(verdict: Verdict, invariants: Sequence[Invariant] = (), conflicts: Sequence[ConflictEvent] = ()) -> str:
    """Return the report; conflicts are shown in the timeline among the commits."""
    title = f"{verdict.table}: {verdict.status.value}"
    body = "\n".join([*_summary(verdict, invariants, conflicts), *_findings(verdict), *_timeline(verdict, conflicts)])
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _summary(verdict: Verdict, invariants: Sequence[Invariant], conflicts: Sequence[ConflictEvent]) -> Iterator[str]:
    style = {Status.CLEAN: "clean", Status.ANOMALIES: "anomalies", Status.CANNOT_BE_JUDGED: "unknown"}[verdict.status]
    count = len(verdict.anomalies) + verdict.anomalies_left_out
    text = f"{count:,} {'anomaly' if count == 1 else 'anomalies'}" if count else verdict.status.value
    yield f"<h1>Audit of {escape(verdict.table)}</h1>"
    yield f'<div class="verdict {style}">{escape(text)}</div>'
    noun = "conflict" if len(conflicts) == 1 else "conflicts"
    lost = f", {len(conflicts):,} {noun} recorded" if conflicts else ""
    yield f"<p>Branch {escape(verdict.branch)}: {verdict.snapshots:,} snapshots judged{lost}.</p>"
    if verdict.commits:
        first, last = verdict.commits[0], verdict.commits[-1]
        span = f"{_time(first.committed_at_ms)} to {_time(last.committed_at_ms)}"
        yield f'<p class="soft">{span} UTC, head <code>{verdict.head_snapshot_id}</code></p>'
    declared = "; ".join(str(invariant) for invariant in invariants) or "none"
    yield f'<p class="soft">Declared invariants: {escape(declared)}.</p>'
    for note in verdict.notes:
        yield f'<p class="soft">{escape(note)}</p>'


def _findings(verdict: Verdict) -> Iterator[str]:
    shown = {id_ for commit in verdict.commits[-_COMMITS_MAX:] for id_ in commit.snapshot_ids}
    if verdict.anomalies:
        yield "<h2>Anomalies</h2>"
    for number, anomaly in enumerate(verdict.anomalies, 1):
        yield f'<div class="card red" id="a{number}"><p><b>{anomaly.kind.value}</b>: {escape(anomaly.what)}</p>'
        yield from _names("snapshots", [_link(shown, id_) for id_ in anomaly.snapshot_ids])
        yield from _names("operations", [escape(name) for name in anomaly.operation_ids])
        yield from (f"<p><code>{escape(row)}</code></p>" for row in anomaly.rows)
        yield "</div>"
    if verdict.anomalies_left_out:
        yield f"<p>... and {verdict.anomalies_left_out:,} more.</p>"
    reasons: dict[str, list[Unjudged]] = {}
    for each in verdict.unjudged:
        reasons.setdefault(each.why, []).append(each)
    if reasons:
        yield "<h2>Cannot be judged</h2>"
    for why, some in reasons.items():
        yield f'<div class="card amber"><p>{escape(why)}</p>'
        yield from _names("snapshots", [_link(shown, id_) for each in some for id_ in each.snapshot_ids])
        yield "</div>"
    if verdict.unjudged_left_out:
        yield f"<p>... and {verdict.unjudged_left_out:,} more.</p>"


def _timeline(verdict: Verdict, conflicts: Sequence[ConflictEvent]) -> Iterator[str]:
    yield "<h2>Timeline</h2>"
    yield (
        '<p class="legend soft">'
        + "".join(
            f'<span><i class="dot" style="background:var(--{colour})"></i>{text}</span>'
            for colour, text in (
                ("green", "commit of Seriatim"),
                ("soft", "commit of others"),
                ("blue", "conflict: somebody lost, and computed again"),
                ("amber", "cannot be judged"),
                ("red", "anomaly"),
            )
        )
        + "</p>"
    )
    accused: dict[int, list[tuple[int, Anomaly]]] = {}
    for number, anomaly in enumerate(verdict.anomalies, 1):
        accused.setdefault(anomaly.snapshot_ids[-1], []).append((number, anomaly))
    unjudged = {id_ for each in verdict.unjudged for id_ in each.snapshot_ids}
    shown = verdict.commits[-_COMMITS_MAX:]
    if len(shown) < len(verdict.commits):
        yield f'<p class="soft">The newest {len(shown):,} of {len(verdict.commits):,} commits.</p>'
    events = [(each.committed_at_ms, 1, number, _commit(each, accused, unjudged)) for number, each in enumerate(shown)]
    begin_ms = shown[0].committed_at_ms if shown else 0
    events += [(each.occurred_at_ms, 0, 0, _conflict(each)) for each in conflicts if each.occurred_at_ms >= begin_ms]
    yield '<div class="line">'
    yield from (event for *_, event in sorted(events, key=lambda event: event[:3], reverse=True))
    yield "</div>"


def _commit(commit: JudgedCommit, accused: dict[int, list[tuple[int, Anomaly]]], unjudged: set[int]) -> str:
    found = [each for id_ in commit.snapshot_ids for each in accused.get(id_, ())]
    style = "red" if found else "amber" if unjudged.intersection(commit.snapshot_ids) else ""
    kind = "" if commit.commit_id is not None else "foreign"
    rows = f"+{commit.rows[0]:,} -{commit.rows[1]:,} rows" if commit.rows is not None else ""
    anchors = "".join(f'<a id="s{id_}"></a>' for id_ in commit.snapshot_ids)
    operations = commit.operation_ids or (
        ("(no operation id)",) if commit.commit_id else (f"(foreign {commit.operation or 'commit'})",)
    )
    blamed = "".join(
        f'<p class="kind"><a href="#a{number}">{anomaly.kind.value}</a>: {escape(anomaly.what)}</p>'
        for number, anomaly in found
    )
    by = f'<span class="soft">{escape(commit.made_by)}</span>' if commit.made_by else ""
    return (
        f'<div class="event {kind} {style}">{anchors}<div class="head"><time>{_time(commit.committed_at_ms)}</time>'
        f"<code>{commit.snapshot_ids[-1]}</code><span>{rows}</span>{by}</div>"
        f"<div>{_few([escape(name) for name in operations])}</div>{blamed}</div>"
    )


def _conflict(conflict: ConflictEvent) -> str:
    loser = _few([escape(name) for name in conflict.loser_operation_ids]) or "(no operation id)"
    winner = _few([escape(name) for name in conflict.winner_operation_ids]) or "(no operation id)"
    return (
        f'<div class="event conflict"><div class="head"><time>{_time(conflict.occurred_at_ms)}</time>'
        f"<span>{loser} lost attempt {conflict.attempt} to {winner}: {conflict.wasted_ms:,} ms</span></div></div>"
    )


def _names(what: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f'<p class="soft">{what}: {_few(names)}</p>'


def _few(names: Sequence[str]) -> str:
    shown = [f"<code>{name}</code>" for name in names[:_NAMES_MAX]]
    more = f" and {len(names) - _NAMES_MAX:,} more" if len(names) > _NAMES_MAX else ""
    return ", ".join(shown) + more


def _link(shown: Set[int], snapshot_id: int) -> str:
    return f'<a href="#s{snapshot_id}">{snapshot_id}</a>' if snapshot_id in shown else str(snapshot_id)


def _time(at_ms: int) -> str:
    return f"{_EPOCH + timedelta(milliseconds=at_ms):%Y-%m-%d %H:%M:%S}"
