"""Overlapping runs, serial results: exactly-once read-modify-write for Apache Iceberg tables."""
