"""The mirror: the versions of a Delta Lake table as snapshots of an Iceberg table, each exactly once and in order."""
