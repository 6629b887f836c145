"""The serial model: what the tables must hold if nothing overlapped.

It imports nothing of Seriatim, `assets` or `pipelines`, nor PyIceberg: it shares no error with what it judges.
"""
