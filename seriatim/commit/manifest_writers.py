"""PyIceberg's writers of manifests and of their lists, writing whole files; and one for manifests of delete files.

PyIceberg reads manifests of delete files, and has no writer for them.
"""

from __future__ import annotations

from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.io import OutputFile
from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestListWriter,
    ManifestListWriterV1,
    ManifestListWriterV2,
    ManifestWriter,
    ManifestWriterV1,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import TableVersion

from seriatim.commit.avro_output import WholeAvroFile, manifest_form, manifest_list_form


def manifest_writer(
    format_version: TableVersion,
    content: ManifestContent,
    spec: PartitionSpec,
    schema: Schema,
    output: OutputFile,
    snapshot_id: int,
    codec: AvroCompressionCodec,
) -> ManifestWriter:
    """Return what writes a manifest of a table of format version 1, which has no delete files, or 2."""
    if content == ManifestContent.DELETES:
        return _DeletesV2(spec, schema, output, snapshot_id, codec)
    kind = _DataV1 if format_version == 1 else _DataV2
    return kind(spec, schema, output, snapshot_id, codec)


def manifest_list_writer(
    format_version: TableVersion,
    output: OutputFile,
    snapshot_id: int,
    parent_id: int | None,
    sequence_number: int,
    codec: AvroCompressionCodec,
) -> ManifestListWriter:
    """Return what writes the manifest list of a snapshot of a table of format version 1 or 2."""
    if format_version == 1:
        return _ListV1(output, snapshot_id, parent_id, codec)
    return _ListV2(output, snapshot_id, parent_id, sequence_number, codec)


class _Whole(ManifestWriter):
    """Writes the file whole."""

    def new_writer(self) -> WholeAvroFile[ManifestEntry]:
        form = manifest_form(self.version, self._spec.partition_type(self._schema))
        return WholeAvroFile[ManifestEntry](self._output_file, form, self._meta)


class _DataV1(_Whole, ManifestWriterV1):
    pass


class _DataV2(_Whole, ManifestWriterV2):
    pass


class _DeletesV2(_Whole, ManifestWriterV2):
    """Says in the header, and to the manifest list, that it lists delete files."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _WholeList(ManifestListWriter):
    """Writes the file whole."""

    def __enter__(self) -> ManifestListWriter:
        form = manifest_list_form(self._format_version)
        self._writer = WholeAvroFile[ManifestFile](self._output_file, form, self._meta)
        self._writer.__enter__()
        return self


class _ListV1(_WholeList, ManifestListWriterV1):
    pass


class _ListV2(_WholeList, ManifestListWriterV2):
    pass
