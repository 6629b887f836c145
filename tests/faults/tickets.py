"""A turn in the line of processes, taken by whoever stands for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seriatim.commit.turnstile.patience import Patience
from seriatim.commit.turnstile.tickets import take_turn


@contextmanager
def turn_of_process(folder: Path, patience: Patience) -> Iterator[bool]:
    """Enter when it is the turn of whoever calls, or when patience is over (False)."""
    ticket = take_turn(folder, patience)
    try:
        yield ticket is not None
    finally:
        if ticket is not None:
            ticket.give_back()
