"""Reads the log of a Delta Lake table into plain values; knows nothing of Iceberg."""
