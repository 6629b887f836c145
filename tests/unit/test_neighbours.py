"""When a change is computed before its turn: while others write, and leave alone what this process writes."""

from __future__ import annotations

import pytest

from seriatim.commit.neighbours import Neighbours

APART = Neighbours(landed_id=1).at_base(2, has_landed=True)


@pytest.mark.parametrize(
    ("base_id", "has_landed", "is_worth"),
    [(2, True, True), (2, False, False), (1, True, False)],
    ids=["others, elsewhere", "others, in the same place", "nobody"],
)
def test_it_is_worth_it_where_others_write_elsewhere(base_id: int, has_landed: bool, is_worth: bool) -> None:
    for before in (Neighbours(landed_id=1), APART):
        assert before.at_base(base_id, has_landed=has_landed).is_worth_computing_ahead == is_worth


def test_what_was_computed_in_vain_is_not_tried_again_at_once() -> None:
    """Readers of everything are touched by whoever writes: they compute twice in one of 65 calls, in the end."""
    seen, skipped = APART, []
    for _ in range(9):
        seen = seen.after_computing_ahead(is_kept=False)
        count = 0
        while not seen.is_worth_computing_ahead:
            seen, count = seen.at_base(2, has_landed=True), count + 1
        skipped.append(count)

    assert skipped == [1, 2, 4, 8, 16, 32, 64, 64, 64]
    assert seen.after_computing_ahead(is_kept=True).after_computing_ahead(is_kept=False).skipped == 1
