"""Remembers which files an attempt wrote, so that those of a dead attempt can be removed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyiceberg.io import FileIO, InputFile, OutputFile, OutputStream

_CREATE_S_MAX: Final = 60.0  # A file that takes longer is left to upkeep.


class RecordingFileIO(FileIO):
    """Another `FileIO`, with a list of the locations that were opened for writing."""

    def __init__(self, io: FileIO) -> None:
        """Record what is written through `io`."""
        super().__init__(io.properties)
        self._io = io
        self.written: list[str] = []  # append is atomic: PyIceberg writes from several threads
        self._is_closed = False
        self._creating = 0
        self._changed = threading.Condition()

    def __getattr__(self, name: str) -> Any:
        """Hand everything else to the recorded `FileIO`."""
        return getattr(self._io, name)

    def new_input(self, location: str) -> InputFile:
        """Open a file for reading."""
        return self._io.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """Open a file for writing, and remember it."""
        self.written.append(location)
        return _RecordedOutput(self._io.new_output(location), self)

    def close(self) -> None:
        """Refuse to create files from now on, and wait for those that are being created.

        PyIceberg gives up as soon as one of its threads fails, while the others are still at work.
        """
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: self._creating == 0, timeout=_CREATE_S_MAX)

    @contextmanager
    def creating(self) -> Iterator[None]:
        """Hold `close` back while a file is created.

        Raises:
            OSError: the attempt is over.
        """
        with self._changed:
            if self._is_closed:
                raise OSError("the attempt that this file was for is over")
            self._creating += 1
        try:
            yield
        finally:
            with self._changed:
                self._creating -= 1
                self._changed.notify_all()

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        self._io.delete(location)


class _RecordedOutput(OutputFile):
    """A file to write, which is not created any more once the attempt is over."""

    def __init__(self, output: OutputFile, recorder: RecordingFileIO) -> None:
        super().__init__(output.location)
        self._output, self._recorder = output, recorder

    def __len__(self) -> int:
        return len(self._output)

    def exists(self) -> bool:
        return self._output.exists()

    def to_input_file(self) -> InputFile:
        return self._output.to_input_file()

    def create(self, overwrite: bool = False) -> OutputStream:
        with self._recorder.creating():
            return self._output.create(overwrite)
