"""The main job: overlapping Dagster runs post a bank's transactions, and the result is compared with a serial model."""
