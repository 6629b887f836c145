"""The next versions of a Delta table as steps on top of what its mirror has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile

from seriatim.commit.chain import Form as TableForm
from seriatim.commit.chain import Step
from seriatim.errors import DeltaLogError, UnsupportedFeatureError
from seriatim.mirror.delta.actions import AddFile, Commit, DeletionVector, Metadata, Protocol, State
from seriatim.mirror.delta.features import require_readable
from seriatim.mirror.difference import Difference, of_commit, of_state
from seriatim.mirror.footers import read_footer
from seriatim.mirror.forms.data_files import data_file, needs_row_count
from seriatim.mirror.forms.form import Form
from seriatim.mirror.forms.known import NAME_MAPPING, Known
from seriatim.mirror.forms.schemas import form_of
from seriatim.mirror.live import Live, LiveFile, digest
from seriatim.mirror.misreadings import require_readable_deletes, require_readable_partition
from seriatim.mirror.words import Mirrored

WriteDeletes = Callable[[DataFile, DeletionVector, str], DataFile]
"""Writes position deletes on a data file, to a file whose name begins with the text."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A version, ready to land."""

    mirrored: Mirrored
    step: Step
    files: int  # how many it adds and removes


class Plan:
    """Goes from version to version; what it has planned is live for what it plans next."""

    def __init__(
        self,
        source: str,
        io: FileIO,
        live: Live,
        known: Known,
        before: tuple[Protocol, Metadata] | None,
        write_deletes: WriteDeletes,
        *,
        checks_files: bool,
    ) -> None:
        """Begin on a mirror with these `live` files; `before` is the protocol and metadata of the version it is at."""
        self._source, self._io, self._known = source, io, known
        self.files: dict[str, LiveFile] = dict(live.files)
        self._write_deletes, self._checks_files = write_deletes, checks_files
        self._protocol: Protocol | None = before[0] if before else None
        self._metadata: Metadata | None = before[1] if before else None
        self._form: Form | None = None  # None: not asked for yet
        self._current: Form | None = None  # None: it is not known that the table has one

    def commit(self, commit: Commit) -> Planned:
        """Plan one version.

        Raises:
            MirrorError: it cannot be mirrored, or not be read.
        """
        try:
            return self._commit(commit)
        except UnsupportedFeatureError as err:
            raise err.of(commit.operation) from err.__cause__

    def _commit(self, commit: Commit) -> Planned:
        self._protocol = commit.protocol or self._protocol
        if commit.metadata is not None or commit.protocol is not None:
            self._metadata = commit.metadata or self._metadata
            self._form = None
        return self._planned(commit.version, commit.timestamp_ms, commit.operation, of_commit(self.files, commit))

    def state(self, state: State, gap_from: int) -> Planned:
        """Plan one step for all the versions from `gap_from` to that of the state."""
        self._protocol, self._metadata, self._form = state.protocol, state.metadata, None
        difference = of_state(self.files, state)
        return self._planned(state.version, state.timestamp_ms, None, difference, gap_from)

    def _planned(
        self,
        version: int,
        timestamp_ms: int,
        operation: str | None,
        difference: Difference,
        gap_from: int | None = None,
    ) -> Planned:
        form, metadata = self._form_at(version)
        mirrored = Mirrored(version, timestamp_ms, metadata.id, operation, gap_from)
        added = [(add, self._data_file(version, add, form, metadata)) for add in difference.added]
        vectors = [(add, file) for add, file in added if add.deletion_vector is not None]
        if vectors:
            require_readable_deletes(self._source, version)
        vectors += [(add, there.data) for there, add in difference.redeleted if add.deletion_vector is not None]
        deletes = {add.path: self._deletes(add, file) for add, file in vectors}
        gone = [*difference.removed, *(there for there, _ in difference.redeleted)]
        for there in difference.removed:
            del self.files[there.data.file_path]
        for add, file in added:
            self.files[add.path] = LiveFile(file, deletes.get(add.path))
        for there, add in difference.redeleted:
            self.files[add.path] = LiveFile(there.data, deletes.get(add.path))
        step = Step(
            added=tuple(file for _, file in added),
            removed=tuple(there.data for there in difference.removed),
            added_deletes=tuple(deletes.values()),
            removed_deletes=tuple(there.deletes for there in gone if there.deletes is not None),
            operation=difference.operation,
            words=mirrored.words(),
            form=self._new_form(form),
        )
        return Planned(mirrored, step, len(added) + len(gone))

    def _form_at(self, version: int) -> tuple[Form, Metadata]:
        if self._protocol is None or self._metadata is None:
            raise DeltaLogError(self._source, version=version, reason="nothing tells the table's schema by then")
        if self._form is None:
            require_readable(self._source, version, self._protocol, self._metadata)
            self._form = form_of(self._source, version, self._metadata, self._known)
            self._known = self._known.with_form(self._form)
        return self._form, self._metadata

    def _new_form(self, form: Form) -> TableForm | None:
        """Return what is to become the table's form; None: the step before has given it that.

        The first step says it anew, whatever the table has: somebody may have changed it.
        """
        if form is self._current:
            return None
        self._current = form
        return TableForm(form.schema, form.spec, {NAME_MAPPING: form.name_mapping.model_dump_json()})

    def _data_file(self, version: int, add: AddFile, form: Form, metadata: Metadata) -> DataFile:
        rows: int | None = None
        if self._checks_files or needs_row_count(add):
            footer = read_footer(self._source, version, self._io, add.path)
            footer.require_ids(self._source, version, add.path, self._known.ids)
            rows = footer.rows
        file = data_file(self._source, version, add, form, metadata, rows)
        require_readable_partition(self._source, version, file, form)
        return file

    def _deletes(self, add: AddFile, file: DataFile) -> DataFile:
        assert add.deletion_vector is not None
        return self._write_deletes(file, add.deletion_vector, digest(add.deletion_vector))
