"""The soak: one table under load for a long time, with conflicts, kills and upkeep, judged by a plain-Python model."""
