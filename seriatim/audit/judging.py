"""The judge: a pure function from a table's past to a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from seriatim.audit.contents import Contents
from seriatim.audit.invariants import Invariant
from seriatim.audit.landed import Landed, landed
from seriatim.audit.limits import Limits
from seriatim.audit.past import Past, Rows
from seriatim.audit.records import Records
from seriatim.audit.verdict import Findings, JudgedCommit, Kind, Verdict


def judge(
    past: Past,
    rows: Rows,
    invariants: Sequence[Invariant] = (),
    *,
    identifier: Sequence[str] = (),
    since: int | None = None,
    limits: Limits | None = None,
) -> Verdict:
    """Judge every commit of the past; with `since`, those that came after the one with that snapshot.

    `identifier` names the columns by which the table's schema knows a row.
    """
    findings = Findings()
    records = Records(past, Findings())
    contents = Contents(rows, findings, tuple(invariants), identifier, limits or Limits())
    commits = list(landed(past.steps))
    begins = _begin(past, commits, since, findings)
    judged: list[JudgedCommit] = []
    place, snapshots = -1, 0
    for number, commit in enumerate(commits):
        place += len(commit.steps)
        if number > begins:
            records.findings = findings
            snapshots += len(commit.steps)
        elif number == begins and since not in commit.snapshot_ids:
            records.findings = findings  # The oldest is judged by its records at least.
        overtaken = records.judge(commit)
        if number < begins:
            continue
        for step in commit.steps:
            if step.damage is not None:
                why = f"what it says of itself cannot be understood: {step.damage}"
                findings.leave(why, (step.snapshot_id,))
        if number == begins:
            contents.begin(commit, place)
        judged.append(_judged(commit, contents.judge(commit, place, overtaken) if number > begins else None))
    if past.ledger_missing is not None:
        what = f"the ledger file {past.ledger_missing} is not there"
        findings.accuse(Kind.MISSING_FILE, what, (past.steps[-1].snapshot_id,))
    return Verdict(
        table=past.table,
        branch=past.branch,
        head_snapshot_id=past.steps[-1].snapshot_id if past.steps else None,
        judged_from_snapshot_id=commits[begins].last.snapshot_id if begins >= 0 else None,
        snapshots=snapshots,
        commits=tuple(judged),
        anomalies=tuple(findings.anomalies),
        unjudged=tuple(findings.unjudged),
        notes=tuple(findings.notes),
        anomalies_left_out=findings.anomalies_left_out,
        unjudged_left_out=findings.unjudged_left_out,
    )


def _begin(past: Past, commits: Sequence[Landed], since: int | None, findings: Findings) -> int:
    """Return the number of the commit whose state the later ones are judged against; -1: an empty table."""
    if since is not None:
        for number, commit in enumerate(commits):
            if since in commit.snapshot_ids:
                findings.notes.append(f"Judged are the commits after snapshot {since}.")
                return number
        findings.notes.append(f"Snapshot {since} is not in the history, so everything that is left is judged.")
    if not past.is_cut or not commits:
        return -1
    oldest = commits[0].steps[0].snapshot_id
    if past.is_cut_vouched_for:
        findings.notes.append(
            f"Older history was expired, and the ledger tells what it applied: judged from snapshot {oldest} on."
        )
    elif not past.is_cut_certain:
        why = f"nothing tells whether there were snapshots before {oldest}: format version 1 does not number them"
        findings.leave(why, (oldest,))
    else:
        what = f"what came before snapshot {oldest} is gone, and no ledger tells what it applied"
        findings.accuse(Kind.CUT_HISTORY, what, (oldest,))
    return 0


def _judged(commit: Landed, rows: tuple[int, int] | None) -> JudgedCommit:
    recorded, last = commit.recorded, commit.last
    return JudgedCommit(
        snapshot_ids=commit.snapshot_ids,
        committed_at_ms=last.committed_at_ms,
        operation=last.operation,
        commit_id=recorded.commit_id if recorded is not None else None,
        made_by=recorded.run_id if recorded is not None else last.made_by,
        operation_ids=commit.operation_ids,
        base_snapshot_id=recorded.base_snapshot_id if recorded is not None else None,
        rows=rows,
    )
