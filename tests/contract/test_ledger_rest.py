"""The ledger over HTTP: tag and registration land in the same request, through PyIceberg's own RestCatalog."""

from __future__ import annotations

import pyiceberg
import pytest

from seriatim.commit import ledger_file
from seriatim.commit.ledger_policy import LedgerPolicy
from tests.contract.apply_support import Deposit, call
from tests.contract.ledger_support import expire_unreferenced, ledger_files, note, referenced_files, tagged
from tests.faults.bank import Bank
from tests.faults.catalog import Fault, Landing
from tests.faults.rest_server import REPLIES, Backing, RestServer

ALWAYS = LedgerPolicy(recent_max=0)


@pytest.mark.skipif(
    pyiceberg.__version__.startswith("0.10"), reason="0.10, which the server is made of, cannot read set-statistics"
)
def test_a_fold_and_a_lost_reply_over_http(bank: Bank) -> None:
    """What the server reads from JSON is what was meant: the ids are found after expiry, and applied once."""
    backing = Backing("bank", **bank.properties())
    with RestServer(backing) as server:
        client = server.connect()
        note(bank, "a", catalog=client)
        call(bank, Deposit(10), "b", catalog=client, ledger=ALWAYS)
        backing.fail(Fault(next(iter(REPLIES.values()))(), Landing.AT_ONCE))
        call(bank, Deposit(1), "c", catalog=client, ledger=ALWAYS)
        expire_unreferenced(bank)
        ledger_file.forget_all()

        again = note(bank, "a", "b", "c", catalog=client)
    backing.engine.dispose()

    assert again.is_noop
    assert bank.balances()[1] == 111
    assert tagged(bank) == bank.head()
    assert len(referenced_files(bank)) == 1
    assert set(referenced_files(bank)) < set(ledger_files(bank))
