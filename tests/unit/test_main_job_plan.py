"""Which runs the main job launches."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pipelines.main_job.plan import Run, last_mirror_run, mirror_runs, posting_runs

KINDS = ("cash_deposit", "cash_withdrawal", "household", "loan", "insurance")


def arrivals(*kinds: Sequence[str]) -> list[pa.Table]:
    """What arrives, as far as the plan looks at it: the kinds of each version."""
    return [pa.table({"kind": pa.array(each, pa.string())}) for each in kinds]


def steps(runs: Sequence[Run]) -> set[tuple[str, int]]:
    return {(run.assets[0], run.config["upto"]) for run in runs}


def test_a_run_posts_one_kind_and_about_a_month() -> None:
    """Of 10 weeks: two spans of as many versions as come in a month; a span without the kind has no run."""
    parts = arrivals(*[KINDS] * 5, *[KINDS[:3]] * 5)

    runs = posting_runs(parts, party=1)

    assert steps(runs) == {(f"bank/{kind}", 4) for kind in KINDS} | {(f"bank/{kind}", 9) for kind in KINDS[:3]}
    assert len(runs) == len(steps(runs))


def test_everything_is_posted_by_the_last_run_of_its_kind() -> None:
    """Whatever the number of versions, the last span ends with the last version that has the kind, or later."""
    for count in range(1, 60):
        runs = posting_runs(arrivals(*[KINDS] * count), party=4)

        assert {f"bank/{kind}" for kind in KINDS} == {asset for asset, upto in steps(runs) if upto == count - 1}


def test_few_arrivals_are_posted_one_by_one() -> None:
    """Two spans of one kind would be two runs, which hardly overlap."""
    runs = posting_runs(arrivals(*[["loan"]] * 9), party=4)

    assert [run.config["upto"] for run in runs] == list(range(9))


def test_the_opening_party_starts_first_and_two_of_it_share_a_kind() -> None:
    """Those two post ranges that overlap; the others are of other kinds, so that all are sure to meet."""
    runs = posting_runs(arrivals(*[KINDS] * 10), party=4)

    party = [run for run in runs if run.party]
    assert list(runs[:4]) == party
    assert len({run.assets for run in party}) == 3
    assert len(runs) == len(steps(runs)) == 10


def test_a_lone_run_has_nobody_to_meet() -> None:
    """A run that waits for others that never come would fail."""
    runs = posting_runs(arrivals(["loan"]), party=4)

    assert [(run.assets, run.party) for run in runs] == [(("bank/loan",), None)]


def test_mirror_runs_race_and_the_last_one_opens_the_accounts() -> None:
    """In batches of few versions, so that they take turns."""
    racing, last = mirror_runs(3), last_mirror_run()

    assert {(run.assets, run.party) for run in racing} == {(("bank/transactions",), "mirror")}
    assert len({run.label for run in (*racing, last)}) == 4
    assert (last.assets, last.party) == (("bank/transactions", "bank/accounts"), None)
