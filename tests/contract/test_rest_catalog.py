"""PyIceberg's own RestCatalog, talking HTTP to a catalog that loses replies."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table.update import AssertRefSnapshotId, SetPropertiesUpdate
from pyiceberg.transforms import IdentityTransform
from requests.exceptions import ConnectionError as RequestsConnectionError
from requests.exceptions import ReadTimeout

from seriatim.errors import OutcomeUnknownError
from solution import commit_with_retry
from tests.contract.apply_support import Deposit, call, opening
from tests.faults.bank import Bank, account_schema
from tests.faults.catalog import Fault, Landing
from tests.faults.rest_server import REPLIES, Backing, RestServer


@pytest.fixture
def server(bank: Bank) -> Iterator[RestServer]:
    """A server on the bank's own database."""
    backing = Backing("bank", **bank.properties())
    with RestServer(backing) as server:
        yield server
    backing.engine.dispose()


def test_it_does_what_a_catalog_does(server: RestServer) -> None:
    """Namespaces and tables are made, listed, loaded and dropped; a name is given once."""
    client = server.connect()

    client.create_namespace("shop")
    with pytest.raises(NamespaceAlreadyExistsError):
        client.create_namespace("shop")
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
    client.create_table("shop.till", account_schema(), partition_spec=spec, properties={"colour": "red"})
    with pytest.raises(TableAlreadyExistsError):
        client.create_table("shop.till", account_schema())

    assert sorted(client.list_namespaces()) == [("bank",), ("shop",)]
    assert client.list_tables("shop") == [("shop", "till")]
    assert client.load_table("shop.till").properties["colour"] == "red"
    assert [field.name for field in client.load_table("shop.till").spec().fields] == ["id"]
    assert client.table_exists("shop.till")
    client.drop_table("shop.till")
    client.drop_namespace("shop")
    assert not client.table_exists("shop.till")
    with pytest.raises(NoSuchTableError):
        client.load_table("shop.till")
    assert client.list_namespaces() == [("bank",)]


def test_it_enforces_the_requirements_of_a_commit(bank: Bank, server: RestServer) -> None:
    """A stale commit is answered 409, which PyIceberg calls CommitFailedException."""
    client = server.connect()
    table = client.load_table(bank.identifier)
    bank.deposit(10)

    with pytest.raises(CommitFailedException):
        client.commit_table(table, _pinned_to(table.metadata.current_snapshot_id), ())

    assert server.commits == 1
    assert bank.balances()[1] == 110


@pytest.mark.parametrize("prefix", ["", "main"])
def test_rows_are_read_and_written_through_it(bank: Bank, server: RestServer, prefix: str) -> None:
    """With a prefix that the server asks for, and without one."""
    server.prefix = prefix.split("/", maxsplit=1)[0]
    client = server.connect()

    client.load_table(bank.identifier).append(pa.table({"id": [4], "bal": [400]}, schema=_arrow(bank)))

    assert client.load_table(bank.identifier).scan().to_arrow().num_rows == 4
    assert f"POST /v1/{prefix and prefix + '/'}namespaces/bank/tables/account" in server.asked
    assert bank.balances() == {1: 100, 2: 200, 3: 300, 4: 400}


HEARD = {
    "HTTP 400": BadRequestError,
    "HTTP 409": CommitFailedException,
    "HTTP 500": CommitStateUnknownException,
    "HTTP 502": CommitStateUnknownException,
    "HTTP 503": ServiceUnavailableError,
    "HTTP 504": CommitStateUnknownException,
    "dropped": RequestsConnectionError,
    "timeout": ReadTimeout,
}


@pytest.mark.parametrize("landing", [Landing.NEVER, Landing.AT_ONCE])
@pytest.mark.parametrize("reply", HEARD)
def test_the_client_hears_what_was_scripted_and_the_commit_lands_when_it_was(
    bank: Bank, server: RestServer, reply: str, landing: Landing
) -> None:
    """The faults are real ones: this is what PyIceberg makes of them, whether or not the commit has landed."""
    server.backing.fail(Fault(REPLIES[reply](), landing))
    client = server.connect()
    table = client.load_table(bank.identifier)

    with pytest.raises(HEARD[reply]) as heard:
        client.commit_table(table, _pinned_to(table.metadata.current_snapshot_id), _property("seen", "yes"))

    assert type(heard.value) is HEARD[reply]
    assert server.backing.script_is_done
    assert server.commits == 1
    assert bank.table().properties.get("seen") == ("yes" if landing is Landing.AT_ONCE else None)


def test_a_replayed_request_is_answered_for_its_second_copy(bank: Bank, server: RestServer) -> None:
    """The first copy has landed, so that the second is refused: the client hears 409 of a commit that landed."""
    server.backing.fail(Fault(REPLIES["replayed"](), Landing.AT_ONCE))

    receipt = call(bank, Deposit(10), "once", catalog=server.connect())

    assert server.commits == 2
    assert receipt.attempts == 1
    assert [snapshot in bank.snapshot_ids() for snapshot in receipt.snapshot_ids] == [True]
    assert bank.balances() == {1: 110, 2: 200, 3: 300}
    assert bank.inventory().missing == []
    assert bank.inventory().unreachable == []


def test_a_token_that_expires_under_a_landed_commit_makes_the_client_send_it_again(
    bank: Bank, server: RestServer
) -> None:
    """PyIceberg's RestCatalog answers 419 by another POST, below everything that we see of it."""
    server.backing.fail(Fault(REPLIES["HTTP 419"](), Landing.AT_ONCE))

    value = commit_with_retry(server.connect(), bank.identifier, partial(operator.add, 7))

    assert server.commits == 2
    assert value == 107
    assert bank.balances() == {1: 107, 2: 200, 3: 300}
    assert bank.inventory().missing == []


def test_two_clients_that_overlap_are_put_in_an_order(bank: Bank, server: RestServer) -> None:
    """The second one is told 409, and computes anew."""
    rival = server.connect()

    receipt = call(bank, Deposit(10, lambda: _deposit(bank, rival)), catalog=server.connect())

    assert receipt.attempts == 2
    assert len(receipt.conflicts) == 1
    assert bank.balances()[1] == 111
    assert bank.inventory().unreachable == []


def test_the_first_snapshot_of_an_empty_table_is_pinned_too(empty_bank: Bank) -> None:
    """'There is no snapshot yet' is a requirement that must survive the way through JSON."""
    bank = empty_bank.create([])
    backing = Backing("bank", **bank.properties())
    with RestServer(backing) as server:
        client, rival = server.connect(), server.connect()

        def meanwhile() -> None:
            call(bank, opening(2, 200), catalog=rival)

        receipt = call(bank, opening(1, 100, meanwhile), "open", catalog=client)
    backing.engine.dispose()

    assert receipt.attempts == 2
    assert server.commits == 3
    assert bank.balances() == {1: 100, 2: 200}


@pytest.mark.parametrize("operation_ids", [(), ("seen?",)], ids=["unnamed", "named"])
@pytest.mark.parametrize("landing", [Landing.AT_ONCE, Landing.NEVER])
def test_a_server_that_shows_referenced_snapshots_only_leads_to_no_wrong_claim(
    bank: Bank, server: RestServer, landing: Landing, operation_ids: tuple[str, ...]
) -> None:
    """`snapshot-loading-mode=refs`: our snapshot under a rival's is seen because the ledger's tag refers to it."""
    client = server.connect(**{"snapshot-loading-mode": "refs"})
    server.backing.fail(Fault(REPLIES["dropped"](), landing, lambda: bank.deposit(5)))

    if landing is Landing.AT_ONCE:
        receipt = call(bank, Deposit(10), *operation_ids, catalog=client)
        assert set(receipt.snapshot_ids) <= set(bank.snapshot_ids())
    else:
        with pytest.raises(OutcomeUnknownError) as caught:
            call(bank, Deposit(10), *operation_ids, catalog=client)
        assert set(caught.value.snapshot_ids).isdisjoint(bank.snapshot_ids())

    assert server.backing.script_is_done
    assert server.commits == 1
    assert bank.balances()[1] == (115 if landing is Landing.AT_ONCE else 105)
    assert bank.inventory().missing == []


def _deposit(bank: Bank, client: object) -> None:
    call(bank, Deposit(1), catalog=client)


def _pinned_to(snapshot_id: int | None) -> tuple[AssertRefSnapshotId, ...]:
    return (AssertRefSnapshotId(ref="main", snapshot_id=snapshot_id),)


def _property(key: str, value: str) -> tuple[SetPropertiesUpdate, ...]:
    return (SetPropertiesUpdate(updates={key: value}),)


def _arrow(bank: Bank) -> pa.Schema:
    return bank.table().schema().as_arrow()
