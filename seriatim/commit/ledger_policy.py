"""How much the ledger remembers, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_WEEK_S: Final = 7 * 24 * 3600
_MAX: Final = 10**10  # seconds: three centuries


@dataclass(frozen=True, slots=True)
class LedgerPolicy:
    """Bounds on the memory of operation ids. Partitions and streams are remembered without limit.

    A commit carries what was applied since the last ledger file, up to `recent_max` names and `recent_bytes_max` bytes;
    the commit that would carry more writes a new ledger file. An id leaves the ledger when it is older than `window_s`.

    `accepts_cut_history` lets a call go on where the history, or the ledger file, is gone: what was applied there is
    then taken for not applied. It is for repair, by somebody who has looked; from then on the ledger is whole again,
    and operations that were issued before are refused.
    """

    window_s: float = _WEEK_S
    recent_max: int = 32
    recent_bytes_max: int = 2048
    accepts_cut_history: bool = False

    def __post_init__(self) -> None:
        """Refuse bounds below nothing, and such without end."""
        for name in ("window_s", "recent_max", "recent_bytes_max"):
            if not 0 <= getattr(self, name) < _MAX:
                raise ValueError(f"{name} must be from 0 to less than {_MAX}, not {getattr(self, name)}")
