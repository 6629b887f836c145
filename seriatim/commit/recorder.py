"""Remembers which files an attempt wrote, so that those of a dead attempt can be removed."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, Final

from pyiceberg.io import FileIO, InputFile, OutputFile, OutputStream

_WRITE_S_MAX: Final = 5.0  # A file that takes longer, or is never closed, is left to upkeep.


class RecordingFileIO(FileIO):
    """Another `FileIO`, with a list of the locations that were opened for writing."""

    def __init__(self, io: FileIO, *, spares_existing: bool = False) -> None:
        """Record what is written through `io`, but not, if it `spares_existing`, what was there before.

        To ask costs a request for each file, and the core's own files have names that nobody else has used.
        """
        super().__init__(io.properties)
        self._io = io
        self._spares_existing = spares_existing
        self.written: list[str] = []  # append is atomic: PyIceberg writes from several threads
        self._is_closed = False
        self._writing = 0
        self._changed = threading.Condition()

    def __getattr__(self, name: str) -> Any:
        """Hand everything else to the recorded `FileIO`."""
        return getattr(self._io, name)

    def new_input(self, location: str) -> InputFile:
        """Open a file for reading."""
        return self._io.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """Open a file for writing, and remember it."""
        output = self._io.new_output(location)
        if not (self._spares_existing and location not in self.written and output.exists()):
            self.written.append(location)
        return _RecordedOutput(output, self)

    def close(self) -> None:
        """Refuse to write files from now on, and wait for those that are being written.

        PyIceberg gives up as soon as one of its threads fails, while the others are still at work.
        """
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: self._writing == 0, timeout=_WRITE_S_MAX)

    def begin(self) -> None:
        """Hold `close` back, as a file is being written.

        Raises:
            OSError: the attempt is over.
        """
        with self._changed:
            if self._is_closed:
                raise OSError("the attempt that this file was for is over")
            self._writing += 1

    def end(self) -> None:
        """Tell that a file is written, or will never be."""
        with self._changed:
            self._writing -= 1
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
        self._recorder.begin()
        try:
            stream = self._output.create(overwrite)
        except BaseException:
            self._recorder.end()
            raise
        return _RecordedStream(stream, self._recorder)


class _RecordedStream(OutputStream):
    """A file that is being written: on an object store it is there only once it is closed."""

    def __init__(self, stream: OutputStream, recorder: RecordingFileIO) -> None:
        self._stream, self._recorder = stream, recorder
        self._is_ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, b: bytes) -> int:
        try:
            return self._stream.write(b)
        except BaseException:  # PyIceberg does not close an Avro file whose header could not be written.
            with suppress(Exception):
                self.close()
            raise

    def tell(self) -> int:
        return self._stream.tell()

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            if not self._is_ended:
                self._is_ended = True
                self._recorder.end()

    def __enter__(self) -> OutputStream:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
