"""The core, sabotaged line by line: each of these is a bug that somebody has had, and the tests named must see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

SEES_CONFLICTS: Final = ("tests/contract/test_conflicts.py", "tests/contract/test_apply.py")
SEES_LOST_REPLIES: Final = ("tests/contract/test_lost_reply.py", "tests/contract/test_lost_reply_with_rivals.py")
SEES_LEDGERS: Final = ("tests/contract/test_ledger_lookup.py", "tests/contract/test_ledger_fold.py")
SEES_READS: Final = ("tests/contract/test_serializable_reads.py", "tests/contract/test_serializable_changes.py")
SEES_FORMS: Final = ("tests/contract/test_table_changes.py", "tests/contract/test_steps.py")
SEES_CHAINS: Final = ("tests/contract/test_writer_chain.py", "tests/contract/test_writer_chain_manifests.py")
SEES_TURNS: Final = ("tests/unit/test_turns.py", "tests/contract/test_turnstile.py")
SEES_HANDING_ON: Final = ("tests/unit/test_turnstile_threads.py", "tests/unit/test_turnstile_handing_on.py")
SEES_VERSIONS: Final = (
    "tests/mirror/test_overlaps.py",
    "tests/mirror/test_rollback.py",
    "tests/mirror/test_refusals.py",
)


@dataclass(frozen=True, slots=True)
class Edit:
    """One line of a file, without its indentation, and what stands there instead."""

    file: str
    line: str
    instead: str

    def applied_to(self, text: str) -> str:
        """Return the file's text with the line replaced.

        Raises:
            ValueError: the line is not there exactly once.
        """
        lines = text.splitlines()
        places = [number for number, line in enumerate(lines) if line.strip() == self.line]
        if len(places) != 1:
            raise ValueError(f"{self.file}: {len(places)} lines, not one, are {self.line!r}")
        (place,) = places
        indentation = lines[place][: -len(self.line)]
        lines[place : place + 1] = [f"{indentation}{each}" for each in self.instead.splitlines()]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Sabotage:
    """A bug, and the tests of which at least one must fail."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]

    def put_into(self, root: Path) -> dict[Path, str]:
        """Sabotage the checkout under `root`, and return what its files held before."""
        before: dict[Path, str] = {}
        for edit in self.edits:
            path = root / edit.file
            before.setdefault(path, path.read_text(encoding="utf-8"))
            path.write_text(edit.applied_to(path.read_text(encoding="utf-8")), encoding="utf-8")
        return before


def _one(name: str, module: str, line: str, instead: str, *tests: str) -> Sabotage:
    return Sabotage(name, (Edit(f"seriatim/{module}.py", line, instead),), tests)


SABOTAGES: Final = (
    _one(
        "the table is not loaded anew",
        "commit/attempts",
        "table = self.look()",
        'table = self.__dict__.setdefault("_first", self.look())',
        *SEES_CONFLICTS,
    ),
    _one(
        "the value that was computed first is used again",
        "commit/prepare",
        "change = self._compute(base)",
        'change = self.__dict__.setdefault("_change", self._compute(base))',
        *SEES_CONFLICTS,
    ),
    _one(
        "ids are looked up before the loop alone",
        "commit/loop",
        "applied = ledger.applied(self._settings.names)",
        "applied = ledger.applied(self._settings.names) if number == 1 else {}",
        *SEES_CONFLICTS,
    ),
    _one(
        "what is applied already is done again with the rest",
        "commit/loop",
        "return tuple(id_ for id_ in self._settings.operation_ids if id_ not in applied)",
        "return self._settings.operation_ids",
        *SEES_CONFLICTS,
    ),
    _one(
        "the head is not demanded",
        "commit/pin",
        "AssertRefSnapshotId(ref=self.branch, snapshot_id=self.snapshot_id),",
        "",
        *SEES_CONFLICTS,
    ),
    _one(
        "the schema is not demanded",
        "commit/pin",
        "AssertCurrentSchemaId(current_schema_id=self.schema_id),",
        "",
        *SEES_FORMS,
    ),
    _one(
        "the partition spec is not demanded",
        "commit/pin",
        "AssertDefaultSpecId(default_spec_id=self.spec_id),",
        "",
        *SEES_FORMS,
    ),
    _one(
        "another table of the name is taken for the same",
        "commit/loop",
        "if self._table_uuid is not None and pin.table_uuid != self._table_uuid:",
        "if False:",
        "tests/contract/test_apply_outcomes.py",
    ),
    _one(
        "a failure to write is swallowed",
        "commit/attempts",
        "if not isinstance(err, (GateError, *refusals)):",
        "if False:",
        "tests/contract/test_matrix_files.py",
        "tests/contract/test_pinned.py",
    ),
    _one(
        "running out of attempts looks like success",
        "commit/loop",
        "raise self.attempts.verdict()",
        "return self._receipt_of(None, (), _Done({}, None))",
        *SEES_CONFLICTS,
    ),
    _one(
        "files are removed before the outcome is looked up",
        "commit/attempts",
        "self._open.append(attempt)",
        "self._open.append(attempt)\nresidue.remove(io, attempt.files)",
        *SEES_LOST_REPLIES,
    ),
    _one(
        "a dead attempt takes the files of its twin with it",
        "commit/attempts",
        "kept = self._spared | self._held()",
        "kept: frozenset[str] = frozenset()",
        *SEES_LOST_REPLIES,
        "tests/contract/test_residue.py",
    ),
    _one(
        "the files of what may have landed are dropped",
        "commit/attempts",
        "held = self._held()",
        "held: frozenset[str] = frozenset()",
        *SEES_CONFLICTS,
    ),
    _one(
        "a commit that landed is not recognised",
        "commit/outcome",
        "return Outcome.LANDED",
        "return Outcome.ABSENT",
        *SEES_LOST_REPLIES,
    ),
    _one(
        "on an empty base the sequence number kills",
        "commit/outcome",
        "if metadata.format_version == 1 or pin.snapshot_id is None:",
        "if metadata.format_version == 1:",
        *SEES_LOST_REPLIES,
        "tests/contract/test_residue.py",
        "tests/contract/test_apply_outcomes.py",
    ),
    _one(
        "what was expired is taken for not landed",
        "commit/outcome",
        "return Outcome.ABSENT if is_before else Outcome.HIDDEN",
        "return Outcome.ABSENT",
        "tests/contract/test_retention.py",
        "tests/contract/test_apply_outcomes.py",
        *SEES_LOST_REPLIES,
    ),
    _one(
        "a failure while a commit is open hides it",
        "commit/attempts",
        "if not self._open:",
        "if True:",
        "tests/contract/test_matrix_files.py",
    ),
    _one(
        "the gate's error is one that PyIceberg cleans up after",
        "commit/gate",
        "class GateError(Exception):",
        "from pyiceberg.exceptions import CommitFailedException\n\n\nclass GateError(CommitFailedException):",
        "tests/contract/test_planted_bugs.py",
        "tests/contract/test_canary.py",
    ),
    _one(
        "one attempt may submit twice",
        "commit/gate",
        "if self.is_submitted:",
        "if False:",
        "tests/contract/test_canary.py",
        "tests/contract/test_pinned.py",
    ),
    _one(
        "a snapshot of another parent is let through",
        "commit/gate",
        "self._check_parents(staged)",
        "",
        "tests/contract/test_canary.py",
        "tests/contract/test_pinned.py",
        "tests/contract/test_steps.py",
    ),
    _one(
        "words of others are let through",
        "commit/gate",
        "del words[key]  # Only this commit says what it is.",
        "pass",
        "tests/contract/test_pinned.py",
    ),
    _one(
        "a branch loses what its owner has set on it",
        "commit/gate",
        "updates = keeping_settings(table.metadata, updates)",
        "updates = tuple(updates)",
        "tests/contract/test_retention.py",
    ),
    _one(
        "a change is kept whatever has come between",
        "commit/prepare",
        "found = Effect.STALE if before is None else self._effect(before, table, files, pin, pending)",
        "found = Effect.STALE if before is None else Effect.NONE",
        *SEES_CONFLICTS,
    ),
    _one(
        "what a rival removed is not looked at",
        "commit/rebase",
        "removed=tuple(gone[file] for file in gone.keys() - come.keys()),",
        "removed=(),",
        *SEES_READS,
    ),
    _one(
        "a compaction is taken for nothing",
        "commit/rebase",
        "if any(file.file_path in replaced or not _is_data(file) for file in difference.all):",
        "if False:",
        *SEES_READS,
    ),
    _one(
        "what is read is not remembered",
        "commit/base",
        "self._reads.append(condition)",
        "",
        *SEES_READS,
    ),
    _one(
        "what an edit selects does not count as read",
        "commit/prepare",
        "reads = base.reads if dependence in (AlwaysFalse(), *base.reads) else (*base.reads, dependence)",
        "reads = base.reads",
        *SEES_READS,
    ),
    _one(
        "the ledger is not carried on",
        "commit/ledger",
        "return NextPage({**words, **own}, self.pin.branch, self.page.file, removals=self._removals())",
        'return NextPage({ledger_words.LEDGER_FORMAT: "1", **own}, self.pin.branch, removals=self._removals())',
        *SEES_LEDGERS,
    ),
    _one(
        "a fold forgets the file before it",
        "commit/ledger",
        "contents = (self._contents() or Contents()).with_entries(self.page.entries, self.page.watermarks)",
        "contents = Contents().with_entries(self.page.entries, self.page.watermarks)",
        *SEES_LEDGERS,
    ),
    _one(
        "the tag alone is believed",
        "commit/ledger",
        "return tagged if any(each.added_snapshot_id == tagged.snapshot_id for each in manifests) else None",
        "return tagged",
        *SEES_LEDGERS,
    ),
    _one(
        "the tag is not moved",
        "commit/ledger",
        "updates.append(_set_tag(tag_of(self.branch), snapshot.snapshot_id))",
        "",
        *SEES_LEDGERS,
    ),
    _one(
        "a history that was cut is taken for whole",
        "commit/lineage",
        "return base is summary.EMPTY_TABLE if base is not None else snapshot.sequence_number == 1",
        "return True",
        *SEES_LEDGERS,
    ),
    _one(
        "an old operation is taken for a new one",
        "commit/ledger",
        "self._require_recent(names, found)",
        "",
        *SEES_LEDGERS,
    ),
    _one(
        "the first half of a commit counts as all of it",
        "commit/ledger_words",
        "if not summary.is_last_part(snapshot):",
        "if False:",
        *SEES_LEDGERS,
        "tests/contract/test_lookup.py",
    ),
    Sabotage(
        "the watermark stands in a table property",
        (
            Edit(
                "seriatim/commit/ledger.py",
                "if stream in self.page.watermarks:",
                'if (mark := self._handle.metadata.properties.get(f"mark.{stream}")) is not None:\n'
                "    return Watermark(int(mark), 0)\n"
                "if stream in self.page.watermarks:",
            ),
            Edit(
                "seriatim/commit/landing.py",
                "everything = (*self.page.removals, *updates, *self.page.updates(io, updates))",
                "everything = (*self.page.removals, *updates, *self.page.updates(io, updates))\n"
                'if (step := self.page.words.get("seriatim.stream")) is not None:\n'
                "    import json\n"
                "    from pyiceberg.table.update import SetPropertiesUpdate\n"
                "    name, _, upto = json.loads(step)\n"
                '    everything = (*everything, SetPropertiesUpdate(updates={f"mark.{name}": str(upto)}))',
            ),
        ),
        ("tests/contract/test_streams.py",),
    ),
    _one(
        "history goes though nothing else tells what it applied",
        "commit/landing",
        "return updates  # What the history applied is told nowhere else, so that it stays.",
        "return (*updates, *expiry(self.metadata, self.branch, self.retention, updates, self.now_ms))",
        *SEES_LEDGERS,
        "tests/contract/test_retention.py",
    ),
    _one(
        "expiry takes what a tag or another branch holds",
        "commit/retention",
        "held = set(_held(metadata, {branch, *moved})) if beyond else set()",
        "held: set[int] = set()",
        "tests/contract/test_retention.py",
    ),
    _one(
        "upkeep expires what the ledger is read from",
        "upkeep/expiry",
        "return newest + 1",
        "return 0",
        "tests/contract/test_upkeep_expiry.py",
    ),
    _one(
        "of a chain's own files the last snapshot's number is told",
        "commit/manifest_files",
        "added = [_added(file, snapshot_id, sequence_number) for file in contents.added]",
        "added = [_added(file, snapshot_id, sequence_number + 1) for file in contents.added]",
        *SEES_CHAINS,
    ),
    _one(
        "the snapshots of a chain have one number",
        "commit/new_snapshot",
        "self._number += 1",
        "pass",
        *SEES_CHAINS,
    ),
    _one(
        "a chain goes back in time",
        "commit/new_snapshot",
        "self._last_ms = max(self._last_ms, self._now_ms if step.at_ms is None else step.at_ms)",
        "self._last_ms = self._now_ms if step.at_ms is None else step.at_ms",
        *SEES_CHAINS,
    ),
    _one(
        "a manifest of deletes in a chain says that it lists data",
        "commit/manifest_writers",
        'return {**super()._meta, "content": "deletes"}',
        "return super()._meta",
        *SEES_CHAINS,
    ),
    _one(
        "delete files of a chain are put into the newest partition spec",
        "commit/manifests",
        'return int(getattr(file, "spec_id", otherwise))',
        "return otherwise",
        *SEES_CHAINS,
    ),
    _one(
        "each removal in a chain writes everything again",
        "commit/manifests",
        "contents.set_apart(later)",
        "pass",
        *SEES_CHAINS,
    ),
    _one(
        "commit_with_retry records the balance for the sum that it adds",
        "account",
        "change = summary.words_of_change([_WHERE], rows_added=1, rows_removed=1, sums={_BALANCE: new - balance})",
        "change = summary.words_of_change([_WHERE], rows_added=1, rows_removed=1, sums={_BALANCE: new})",
        "tests/contract/test_audit_account.py",
    ),
    _one(
        "anybody may commit to a mirror",
        "commit/mirrors",
        "if is_mirror(metadata, branch):",
        "if False:",
        "tests/contract/test_mirrors.py",
    ),
    _one(
        "a mirror is known by its property alone",
        "commit/mirrors",
        "return MIRROR_OF in metadata.properties if head is None else delta_version(head) is not None",
        "return MIRROR_OF in metadata.properties",
        "tests/contract/test_mirrors.py",
    ),
    _one(
        "the mirror submits again what it planned on a base that has moved",
        "mirror/work",
        "if self._pin != pin:",
        "if self._pin is None:",
        *SEES_VERSIONS,
    ),
    _one(
        "the mirror goes on from what it remembers, not from what the table is at",
        "mirror/work",
        "if self._live is not None and head is not None and self._live.snapshot_id == head.snapshot_id:",
        "if self._live is not None:",
        *SEES_VERSIONS,
    ),
    _one(
        "the mirror goes on with the files of its last attempt, whichever landed",
        "mirror/work",
        "self._live = Live(receipt.snapshot_ids[-1], self._batch.plan.files) if receipt.attempts == 1 else None",
        "self._live = Live(receipt.snapshot_ids[-1], self._batch.plan.files)",
        *SEES_VERSIONS,
    ),
    _one(
        "the mirror does not ask whose mirror the table is",
        "mirror/work",
        "self.backlog.require_source(target.name_of(table), at, table.properties)",
        "pass",
        *SEES_VERSIONS,
    ),
    _one(
        "nobody waits for a turn",
        "commit/turnstile/patience",
        "while ahead := place.ahead():",
        "while ahead := ():",
        "tests/unit/test_turnstile_patience.py",
        *SEES_TURNS,
    ),
    _one(
        "the dead are waited for",
        "commit/turnstile/tickets",
        "(self.folder / name).unlink(missing_ok=True)  # Nobody holds it: it has died.",
        "clock.wait_s(wait_s_max)",
        "tests/unit/test_turnstile_tickets.py",
    ),
    _one(
        "nobody is woken by the end of a turn",
        "commit/turnstile/tickets",
        "clock.wait_closed(descriptor, wait_s_max)",
        "clock.wait_s(wait_s_max)",
        "tests/unit/test_turnstile_tickets.py",
    ),
    _one(
        "who waits is woken at once, again and again",
        "system",
        "other_end.register(descriptor, 0)  # For no event: that nobody is there is told all the same.",
        "other_end.register(descriptor)",
        "tests/unit/test_turnstile_tickets.py",
    ),
    _one(
        "long turns that others ended do not count",
        "commit/turnstile/patience",
        "if first is not None and now_s >= long_s:",
        "if first == ahead[0] and now_s >= long_s:",
        "tests/unit/test_turnstile_patience.py",
    ),
    _one(
        "a turnstile may swallow what an attempt raises",
        "commit/turnstile/turns",
        "_leave(stack)",
        "pass",
        *SEES_TURNS,
    ),
    _one(
        "a call within a call waits for the outer one",
        "commit/turnstile/turns",
        "is_waited_for = self._line is not None and (os.getpid(), self._line) not in _held.lines",
        "is_waited_for = self._line is not None",
        *SEES_TURNS,
    ),
    _one(
        "a late turn takes another's ticket out of the line",
        "commit/turnstile/tickets",
        'name = f"{number:0{_DIGITS}}-{ticket.name}"',
        'name = f"{number:0{_DIGITS}}-"',
        "tests/unit/test_turnstile_tickets.py",
    ),
    _one(
        "who has a hook takes a turn all the same",
        "account",
        "turnstile = default_turnstile() if before_commit is None else NO_TURNSTILE",
        "turnstile = default_turnstile()",
        *SEES_TURNS,
    ),
    _one(
        "whatever is called a conflict counts as proof",
        "commit/attempts",
        "if isinstance(gate.reported, sql_swap.RefusedError):",
        "if isinstance(gate.reported, CommitFailedException):",
        *SEES_LOST_REPLIES,
    ),
    _one(
        "the swap takes the place of whatever is there",
        "commit/sql_swap",
        "swapped = update(IcebergTables).where(*_is_named(), is_loaded)",
        "swapped = update(IcebergTables).where(*_is_named())",
        "tests/contract/test_sql_swap.py",
    ),
    _one(
        "whatever an old snapshot or a log says is carried on unseen",
        "commit/carried",
        "field: [kind(each) if kind.is_plain(each) else kind.kind.model_validate(each) for each in file[key]]",
        "field: [kind(each) for each in file[key]]",
        "tests/contract/test_carried.py",
    ),
    _one(
        "rows of several partitions share a file",
        "commit/plain_files",
        "if len(found) > 1:",
        "if not found:",
        "tests/contract/test_plain_files.py",
    ),
    _one(
        "a long computation is dropped wherever the table has moved",
        "commit/prepare",
        "found = self._effect(computed, table, self._files, now, computed.pending)",
        "found = Effect.STALE if now != computed.pin else Effect.NONE",
        "tests/contract/test_second_look.py",
    ),
    _one(
        "every change is looked at once more, however short it was",
        "commit/prepare",
        "look = partial(self._require_useful, computed, files, attempt) if is_long else None",
        "look = partial(self._require_useful, computed, files, attempt)",
        "tests/contract/test_second_look.py",
    ),
    _one(
        "a file's columns are told by their names alone",
        "commit/plain_files",
        "return field.equals(wanted) and _field_id(field) == _field_id(wanted)",
        "return field.equals(wanted)",
        "tests/contract/test_plain_files.py",
    ),
    _one(
        "what was expired is taken for harmless",
        "commit/rebase",
        "if later is None or len(later) > _SNAPSHOTS_MAX:",
        "if later is None:\n    return Effect.NONE\nif len(later) > _SNAPSHOTS_MAX:",
        "tests/contract/test_serializable_changes.py",
    ),
    _one(
        "no manifest of another is looked into",
        "commit/rebase",
        "replaced, written = (list(filter(pruning.may_list, manifests)) for manifests in (replaced, written))",
        "replaced, written = [], []",
        *SEES_READS,
    ),
    _one(
        "a file that is added again is the one that was removed",
        "commit/rebase",
        "return {(entry.data_file.file_path, entry.sequence_number or 0): entry.data_file for entry in listed}",
        "return {(entry.data_file.file_path, 0): entry.data_file for entry in listed}",
        *SEES_READS,
    ),
    _one(
        "what fits one base alone is done ahead",
        "commit/loop",
        "is_worth = self._lists is not None and NEIGHBOURS.at(self._line).is_worth_computing_ahead",
        "is_worth = NEIGHBOURS.at(self._line).is_worth_computing_ahead",
        "tests/contract/test_computing_ahead.py",
    ),
    _one(
        "a turn is handed on though another process waits",
        "commit/turnstile/threads",
        "if place.held is not None and place.held.is_wanted():",
        "if place.held is None:",
        *SEES_HANDING_ON,
    ),
    _one(
        "whoever passes a thread over takes its ticket",
        "commit/turnstile/threads",
        "if hands_on and was_first:",
        "if was_first:",
        *SEES_HANDING_ON,
    ),
    _one(
        "an account is closed and opened again, and the auditor sees a skew",
        "audit/dependence",
        "found = _overlap(rows, reads, own, _lasting(between), key_columns)",
        "pass",
        "tests/unit/test_audit_judge.py",
    ),
    _one(
        "rows of another snapshot's file are remembered for it",
        "commit/base_files",
        "if is_whole and (known := self._whole.get(task.file.file_path)) is not None:",
        "if is_whole and (known := next(iter(self._whole.values()), None)) is not None:",
        "tests/contract/test_apply.py",
        "tests/contract/test_conditions.py",
        "tests/contract/test_serializable_changes.py",
    ),
)
