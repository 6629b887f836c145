"""Remembers which files an attempt wrote, so that those of a dead attempt can be removed."""

from __future__ import annotations

from typing import Any

from pyiceberg.io import FileIO, InputFile, OutputFile


class RecordingFileIO(FileIO):
    """Another `FileIO`, with a list of the locations that were opened for writing."""

    def __init__(self, io: FileIO) -> None:
        """Record what is written through `io`."""
        super().__init__(io.properties)
        self._io = io
        self.written: list[str] = []  # append is atomic: PyIceberg writes from several threads

    def __getattr__(self, name: str) -> Any:
        """Hand everything else to the recorded `FileIO`."""
        return getattr(self._io, name)

    def new_input(self, location: str) -> InputFile:
        """Open a file for reading."""
        return self._io.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """Open a file for writing, and remember it."""
        self.written.append(location)
        return self._io.new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        self._io.delete(location)
