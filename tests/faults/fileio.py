"""A FileIO that tells of each step of each file, and fails at the steps that a test has chosen."""

from __future__ import annotations

import io
import re
import threading
from collections import Counter
from enum import Enum
from typing import Any, Protocol

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream
from pyiceberg.table import Table

from tests.faults.catalog import FaultyCatalog


class Step(Enum):
    """What is done with a file."""

    CREATE = "opened for writing"
    WRITE = "written to"
    CLOSE = "closed after writing"
    READ = "opened for reading"
    DELETE = "deleted"


class Kind(Enum):
    """What a file is to Iceberg."""

    DATA = "data file"
    MANIFEST = "manifest"
    MANIFEST_LIST = "manifest list"
    METADATA = "metadata file"


def kind_of(location: str) -> Kind:
    """Return what the file is, by the names that PyIceberg gives."""
    if location.endswith(".parquet"):
        return Kind.DATA
    if location.endswith(".metadata.json"):
        return Kind.METADATA
    return Kind.MANIFEST_LIST if re.search(r"/snap-[^/]*\.avro$", location) else Kind.MANIFEST


class Watch(Protocol):
    """Somebody who is told before and after each step of a file, and may raise."""

    def before(self, step: Step, kind: Kind) -> None: ...

    def after(self, step: Step, kind: Kind) -> None: ...


class FileFaults:
    """Counts the steps, and fails those that were chosen.

    A step fails before it is done; but a file that is closed is there, and whoever closes it is told otherwise.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[Step, Kind]] = Counter()
        self.failed = 0
        self.error = OSError(5, "input/output error, scripted")
        self._chosen: dict[tuple[Step, Kind], int] = {}  # the number of the step, from 1; 0: every one
        self._closing: set[int] = set()  # the threads that are at a closing which is to fail
        self._one_at_a_time = threading.Lock()  # PyIceberg reads and writes in several threads.

    def fail(self, step: Step, kind: Kind, number: int = 0) -> FileFaults:
        """Let the step of that number fail, counted from 1 and from now (0: each of them)."""
        self.counts[step, kind] = 0
        self._chosen[step, kind] = number
        return self

    def before(self, step: Step, kind: Kind) -> None:
        """Count, and fail unless it is a closing."""
        with self._one_at_a_time:
            self.counts[step, kind] += 1
            if self._chosen.get((step, kind)) not in (0, self.counts[step, kind]):
                return
            self.failed += 1
            if step is Step.CLOSE:
                self._closing.add(threading.get_ident())
                return
        raise self.error

    def after(self, step: Step, kind: Kind) -> None:
        """Fail if it was a closing that is to fail."""
        if step is Step.CLOSE and threading.get_ident() in self._closing:
            self._closing.discard(threading.get_ident())
            raise self.error


class WatchedFileIO(FileIO):
    """Another `FileIO`, with somebody who watches.

    `is_object_store`: a file is not there before it is closed, then all of it at once.
    """

    def __init__(self, io: FileIO, watch: Watch, *, is_object_store: bool = False) -> None:
        super().__init__(io.properties)
        self._io, self._watch, self._is_object_store = io, watch, is_object_store

    def new_input(self, location: str) -> InputFile:
        return _Input(self._io.new_input(location), self._watch)

    def new_output(self, location: str) -> OutputFile:
        return _Output(self._io.new_output(location), self._watch, self._is_object_store)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        kind = kind_of(location if isinstance(location, str) else location.location)
        self._watch.before(Step.DELETE, kind)
        self._io.delete(location)
        self._watch.after(Step.DELETE, kind)


class WatchedCatalog(FaultyCatalog):
    """A `FaultyCatalog` whose tables have a watched FileIO.

    The metadata files are the catalog's own affair: it reads and writes them through a FileIO of its own.
    """

    is_object_store = False

    def __init__(self, name: str, watch: Watch, **properties: str) -> None:
        self.watch = watch
        super().__init__(name, **properties)

    def load_table(self, identifier: Any) -> Table:
        table = super().load_table(identifier)
        if not getattr(self._inside, "commit", False):
            table.io = WatchedFileIO(table.io, self.watch, is_object_store=self.is_object_store)
            self.loaded_ios[-1] = table.io
        return table


class _Input(InputFile):
    def __init__(self, file: InputFile, watch: Watch) -> None:
        super().__init__(file.location)
        self._file, self._watch = file, watch

    def __len__(self) -> int:
        return len(self._file)

    def exists(self) -> bool:
        return self._file.exists()

    def open(self, seekable: bool = True) -> InputStream:
        self._watch.before(Step.READ, kind_of(self.location))
        stream = self._file.open(seekable)
        self._watch.after(Step.READ, kind_of(self.location))
        return stream


class _Output(OutputFile):
    def __init__(self, file: OutputFile, watch: Watch, is_object_store: bool) -> None:
        super().__init__(file.location)
        self._file, self._watch, self._is_object_store = file, watch, is_object_store

    def __len__(self) -> int:
        return len(self._file)

    def exists(self) -> bool:
        return self._file.exists()

    def to_input_file(self) -> InputFile:
        return _Input(self._file.to_input_file(), self._watch)

    def create(self, overwrite: bool = False) -> OutputStream:
        kind = kind_of(self.location)
        self._watch.before(Step.CREATE, kind)
        stream = _Upload(self._file) if self._is_object_store else self._file.create(overwrite=overwrite)
        self._watch.after(Step.CREATE, kind)
        return _Stream(stream, self._watch, kind)


class _Stream:
    """A stream that is watched; everything else is the stream's own."""

    def __init__(self, stream: OutputStream, watch: Watch, kind: Kind) -> None:
        self._stream, self._watch, self._kind = stream, watch, kind
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return self._is_closed

    def write(self, content: bytes) -> int:
        self._watch.before(Step.WRITE, self._kind)
        written = self._stream.write(content)
        self._watch.after(Step.WRITE, self._kind)
        return written

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._watch.before(Step.CLOSE, self._kind)
        self._stream.close()
        self._watch.after(Step.CLOSE, self._kind)


class _Upload(io.BytesIO):
    """A file that is there once it is closed."""

    def __init__(self, file: OutputFile) -> None:
        super().__init__()
        self._file = file

    def close(self) -> None:
        if not self.closed:
            with self._file.create(overwrite=True) as stream:
                stream.write(self.getvalue())
        super().close()
