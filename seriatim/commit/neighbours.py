"""Those who write a table besides this process: whether they leave alone what it writes.

Where they do, a change that is computed while others have their turns still holds when its own turn comes, which is for
the landing alone then. Where they do not, it would be computed twice. Nothing depends on it but speed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from seriatim.commit.seen import Seen

_SKIPPED_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What was seen of them."""

    landed_id: int | None = None  # the snapshot that the process has landed last; None: none yet
    are_apart: bool = False  # whether they have landed since then, and a manifest of that snapshot was still there
    skipped: int = 0  # how many calls are not to compute ahead, since one has done so in vain
    skipped_next: int = 1

    @property
    def is_worth_computing_ahead(self) -> bool:
        """Whether what is computed before the turn is likely to hold in it."""
        return self.are_apart and not self.skipped

    def at_base(self, base_id: int | None, *, has_landed: bool) -> Neighbours:
        """Return what is known once a call has loaded a base; `has_landed`: that lists a manifest of `landed_id`."""
        are_apart = has_landed and base_id != self.landed_id
        return replace(self, are_apart=are_apart, skipped=max(0, self.skipped - 1))

    def after_computing_ahead(self, *, is_kept: bool) -> Neighbours:
        """Return what is known once something that was computed ahead was kept, or had to be computed again."""
        if is_kept:
            return replace(self, skipped_next=1)
        return replace(self, skipped=self.skipped_next, skipped_next=min(_SKIPPED_MAX, 2 * self.skipped_next))


NEIGHBOURS: Final = Seen(Neighbours())
