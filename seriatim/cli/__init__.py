"""The command `seriatim`: what happened to a table, and its upkeep, from a terminal."""
