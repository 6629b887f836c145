"""Writes manifests of delete files, which PyIceberg reads and has no writer for."""

from __future__ import annotations

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.manifest import ManifestContent, ManifestEntry, ManifestWriterV2


class DeleteManifestWriter(ManifestWriterV2):
    """Writes a manifest that lists delete files, and says so in its header and to the manifest list."""

    def content(self) -> ManifestContent:
        """Return what the manifest list says of it."""
        return ManifestContent.DELETES

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        """Return the writer of the file, whose header is written when it is entered."""
        writer = super().new_writer()
        writer.metadata = {**writer.metadata, "content": "deletes"}
        return writer
