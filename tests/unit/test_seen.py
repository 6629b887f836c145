"""What a process remembers of the tables that it writes: a bounded number, those that it wrote last."""

from __future__ import annotations

from seriatim.commit.seen import Seen


def test_a_process_remembers_the_tables_that_it_wrote_last() -> None:
    seen = Seen("nothing")
    for n in range(300):
        seen.note(str(n), f"{n} things")
        seen.note("always", "this")

    assert seen.at("0") == "nothing"
    assert seen.at("299") == "299 things"
    assert seen.at("always") == "this"
