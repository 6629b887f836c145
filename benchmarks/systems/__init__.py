"""The systems that are compared: each keeps a counter in a table, and increments it by read-modify-write."""
