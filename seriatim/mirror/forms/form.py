"""What an Iceberg table is to look like at one version of the Delta table."""

from __future__ import annotations

from dataclasses import dataclass

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping


@dataclass(frozen=True, slots=True)
class Form:
    """The schema and partition spec of one version, and the ids of every name that any data file may use."""

    schema: Schema
    spec: PartitionSpec
    name_mapping: NameMapping  # by the names in the files; of all versions up to this one
