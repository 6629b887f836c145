"""Writes manifests and manifest lists as PyIceberg does, byte for byte but for how entries are put into blocks.

PyIceberg works out anew for each file what follows from its schema alone, hands every byte of a number to the file by
itself, and compresses each entry of a manifest on its own. Of a commit of one row that is most of what is computed.
Here a schema is worked out once, entries share blocks, and a file is handed over whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Final, TypeVar

from pyiceberg.avro.codecs import AVRO_CODEC_KEY, CODEC_MAPPING_ICEBERG_TO_AVRO
from pyiceberg.avro.encoder import BinaryEncoder
from pyiceberg.avro.file import META_SCHEMA, AvroFileHeader, AvroOutputFile
from pyiceberg.avro.resolver import construct_writer, resolve_writer
from pyiceberg.avro.writer import Writer
from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_LIST_FILE_SCHEMAS,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.typedef import Record, TableVersion
from pyiceberg.types import StructType
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from seriatim.system import new_id

D = TypeVar("D", bound=Record)

_MAGIC: Final = b"Obj\x01"
_HEADER: Final = construct_writer(META_SCHEMA)
_BLOCK_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Form:
    """What a file's schema comes to."""

    avro_schema: str  # as JSON
    writer: Writer

    @classmethod
    def of(cls, name: str, written: Schema, given: Schema) -> Form:
        """Return how records of the `given` schema are written in the `written` one, which has that name."""
        avro = AvroSchemaConversion().iceberg_to_avro(written, schema_name=name)
        return cls(json.dumps(avro), resolve_writer(record_schema=given, file_schema=written))


@lru_cache(maxsize=64)
def manifest_form(format_version: TableVersion, partition_type: StructType) -> Form:
    """Return the form of a manifest for files that are partitioned so."""
    written, given = (
        manifest_entry_schema_with_data_file(
            format_version=version, data_file=data_file_with_partition(partition_type, format_version=version)
        )
        for version in (format_version, DEFAULT_READ_VERSION)
    )
    return Form.of("manifest_entry", written, given)


@lru_cache
def manifest_list_form(format_version: TableVersion) -> Form:
    """Return the form of a manifest list."""
    written, given = MANIFEST_LIST_FILE_SCHEMAS[format_version], MANIFEST_LIST_FILE_SCHEMAS[DEFAULT_READ_VERSION]
    return Form.of("manifest_file", written, given)


class WholeAvroFile(AvroOutputFile[D]):
    """An Avro file that is put together in memory, and written when it is complete."""

    def __init__(self, output_file: OutputFile, form: Form, metadata: dict[str, str]) -> None:
        """Write to `output_file`, with `metadata` in the header."""
        self.output_file, self.metadata, self.writer = output_file, metadata, form.writer
        self.sync_bytes = bytes.fromhex(new_id())
        self._avro_schema = form.avro_schema
        self._file, self._block, self._count = _Encoder(), _Encoder(), 0

    def __enter__(self) -> WholeAvroFile[D]:
        """Begin the file."""
        codec = self.metadata.get(AVRO_CODEC_KEY, TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT)
        named = CODEC_MAPPING_ICEBERG_TO_AVRO.get(codec, codec)
        meta = {**self.metadata, "avro.schema": self._avro_schema, AVRO_CODEC_KEY: named}
        _HEADER.write(self._file, AvroFileHeader(_MAGIC, meta, self.sync_bytes))
        return self

    def __exit__(
        self,
        exctype: type[BaseException] | None,
        excinst: BaseException | None,
        exctb: TracebackType | None,
    ) -> None:
        """Write the file, unless something went wrong before it was complete."""
        if exctype is not None:
            return
        self._end_block()
        with self.output_file.create(overwrite=True) as stream:
            stream.write(bytes(self._file.content))
        self.output_file = _Written(self.output_file, len(self._file.content))

    def write_block(self, objects: list[D]) -> None:
        """Add records."""
        for each in objects:
            self.writer.write(self._block, each)
        self._count += len(objects)
        if len(self._block.content) >= _BLOCK_BYTES:
            self._end_block()

    def tell(self) -> int:
        """Return how many bytes are complete."""
        return len(self._file.content)

    def _end_block(self) -> None:
        if not self._count:
            return
        content = bytes(self._block.content)
        if codec := self.compression_codec():
            content, _ = codec.compress(content)
        self._file.write_int(self._count)
        self._file.write_bytes(content)
        self._file.write(self.sync_bytes)
        self._block, self._count = _Encoder(), 0


class _Encoder(BinaryEncoder):
    """Encodes as PyIceberg's does, into memory."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, b: bytes) -> None:
        self.content += b

    def write_int(self, integer: int) -> None:
        datum = (integer << 1) ^ (integer >> 63)  # Zig-zag: small numbers of either sign become small ones.
        content = self.content
        while datum > 0x7F:
            content.append((datum & 0x7F) | 0x80)
            datum >>= 7
        content.append(datum)


class _Written(OutputFile):
    """A file of which it is known how long it is, without asking for that."""

    def __init__(self, output: OutputFile, size: int) -> None:
        super().__init__(output.location)
        self._output, self._size = output, size

    def __len__(self) -> int:
        return self._size

    def exists(self) -> bool:
        return self._output.exists()

    def to_input_file(self) -> InputFile:
        return self._output.to_input_file()

    def create(self, overwrite: bool = False) -> OutputStream:
        return self._output.create(overwrite)
