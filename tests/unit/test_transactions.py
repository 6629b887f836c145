"""Reading transactions: exactly, or not at all and with the place of the trouble."""

from __future__ import annotations

import os
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.batch import Transaction
from assets.errors import Problem, TransactionsError, UnknownAccountError
from assets.kinds import KINDS, kind_named
from assets.recorded_balances import read_recorded_balances
from assets.transaction_checks import require_accounts
from assets.transactions import Transactions, read_transactions
from seriatim.errors import SeriatimError

HEADER = "trans_id,account_id,date,kind,amount"
GOOD = "7,1,1993-01-05,pension,10.00"
REAL = os.environ.get("SERIATIM_TRANSACTIONS_REAL")


def csv_file(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "bank.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def parquet_file(folder: Path, **columns: pa.Array) -> Path:
    """Write two rows that are good, but for the columns given."""
    good = {
        "trans_id": pa.array([7, 8]),
        "account_id": pa.array([1, 2]),
        "date": pa.array([date(1993, 1, 5), date(1993, 1, 6)]),
        "kind": pa.array(["pension", "loan"]),
        "amount": pa.array([Decimal("10.00"), Decimal("-0.50")], pa.decimal128(12, 2)),
    }
    path = folder / "bank.parquet"
    pq.write_table(pa.table(good | columns), path)
    return path


def refusal(path: Path) -> TransactionsError:
    with pytest.raises(TransactionsError) as caught:
        read_transactions(path)
    assert caught.value.place == path
    return caught.value


def column(transactions: Transactions, name: str) -> Any:
    return transactions.table[name].to_pylist()


def test_csv_and_parquet_give_the_same_checked_table(tmp_path: Path) -> None:
    """The format is a matter of storage; what has been read does not depend on it."""
    rows = ("7,1,1993-01-05,pension,10.00", "8,2,1993-01-06,loan,-0.50")

    from_csv, from_parquet = read_transactions(csv_file(tmp_path, *rows)), read_transactions(parquet_file(tmp_path))

    assert from_csv.table == from_parquet.table
    assert from_csv.table.schema == pa.schema(
        {
            "trans_id": pa.int64(),
            "account_id": pa.int64(),
            "date": pa.date32(),
            "kind": pa.string(),
            "amount_minor": pa.int64(),
        }
    )
    assert from_csv.table.to_pylist() == [
        {"trans_id": 7, "account_id": 1, "date": date(1993, 1, 5), "kind": "pension", "amount_minor": 1000},
        {"trans_id": 8, "account_id": 2, "date": date(1993, 1, 6), "kind": "loan", "amount_minor": -50},
    ]


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("0", 0),
        ("-0", 0),
        ("5", 500),
        ("5.1", 510),
        ("5.10", 510),
        ("5.1000", 510),
        ("-0.05", -5),
        ("007.07", 707),
        ("0.29", 29),
        ("90071992547409.93", 9007199254740993),
        ("92233720368547758.07", 2**63 - 1),
        ("-92233720368547758.08", -(2**63)),
    ],
)
def test_an_amount_in_text_is_exact(tmp_path: Path, text: str, minor: int) -> None:
    """Text never passes through a float: 2**53 + 1 cents and the ends of int64 arrive as they are."""
    transactions = read_transactions(csv_file(tmp_path, f"7,1,1993-01-05,pension,{text}"))

    assert column(transactions, "amount_minor") == [minor]


@pytest.mark.parametrize(
    ("amounts", "minor"),
    [
        pytest.param(pa.array([Decimal("0.01"), Decimal("-7.5")], pa.decimal128(20, 4)), [1, -750], id="a finer scale"),
        pytest.param(pa.array([Decimal(3), Decimal(-4)], pa.decimal256(50, 0)), [300, -400], id="decimal256"),
        pytest.param(
            pa.array([Decimal("92233720368547758.07"), Decimal("-92233720368547758.08")], pa.decimal128(38, 2)),
            [2**63 - 1, -(2**63)],
            id="the ends of int64",
        ),
        pytest.param(pa.array([3, -4], pa.int32()), [300, -400], id="whole numbers of the major unit"),
        pytest.param(pa.array([0.29, -1234567890123.45]), [29, -123456789012345], id="floats that are decimals"),
        pytest.param(pa.array(["0.29", "-7"], pa.large_string()), [29, -700], id="text"),
    ],
)
def test_an_amount_in_parquet_is_exact(tmp_path: Path, amounts: pa.Array, minor: list[int]) -> None:
    """Other writers choose other types for the same number."""
    assert column(read_transactions(parquet_file(tmp_path, amount=amounts)), "amount_minor") == minor


def test_every_amount_of_two_decimals_survives_a_float(tmp_path: Path) -> None:
    """The round trip decides, so it must not refuse what is good: all cents up to 1000.00, and the largest allowed."""
    cents = [*range(-100_000, 100_001), 10**15 - 1]
    floats = pa.array([each / 100 for each in cents])
    rows = pa.table(
        {
            "trans_id": pa.array(range(len(cents))),
            "account_id": pa.array([1] * len(cents)),
            "date": pa.array([date(1993, 1, 5)] * len(cents)),
            "kind": pa.array(["pension"] * len(cents)),
            "amount": floats,
        }
    )
    pq.write_table(rows, tmp_path / "bank.parquet")

    assert column(read_transactions(tmp_path / "bank.parquet"), "amount_minor") == cents


@pytest.mark.parametrize(
    "dates",
    [
        pa.array([datetime(1993, 1, 5), datetime(1993, 1, 6)], pa.timestamp("ns")),  # noqa: DTZ001 - no zone is the point
        pa.array([datetime(1993, 1, 5), datetime(1993, 1, 6)], pa.timestamp("s")),  # noqa: DTZ001
        pa.array(["1993-01-05", "1993-01-06T00:00:00.000"]),
        pa.array(["1993-01-05", "1993-01-06"]).dictionary_encode(),
    ],
    ids=["timestamp[ns]", "timestamp[s]", "text", "dictionary"],
)
def test_a_whole_day_is_read_from_other_types(tmp_path: Path, dates: pa.Array) -> None:
    """Pandas writes days as timestamps at midnight, others as text."""
    transactions = read_transactions(parquet_file(tmp_path, date=dates))

    assert transactions.days() == (date(1993, 1, 5), date(1993, 1, 6))


def test_ids_and_kinds_are_read_from_other_encodings(tmp_path: Path) -> None:
    """Narrow, unsigned and dictionary-encoded columns hold the same values."""
    path = parquet_file(
        tmp_path,
        trans_id=pa.array([7, 8], pa.uint64()),
        account_id=pa.array([1, 2], pa.int16()),
        kind=pa.array(["pension", "loan"]).dictionary_encode(),
    )

    transactions = read_transactions(path)

    assert column(transactions, "trans_id") == [7, 8]
    assert transactions.account_ids() == (1, 2)
    assert transactions.kinds() == (kind_named("pension"), kind_named("loan"))


def test_csv_as_spreadsheets_write_it_is_read(tmp_path: Path) -> None:
    """A byte order mark, quotes, another order of columns, further columns and empty lines change nothing."""
    path = tmp_path / "Bank.CSV"
    text = '\ufeffkind,note,amount,date,account_id,trans_id\r\n\r\n"pension","a,\nb",10.00,1993-01-05,1,7\r\n'
    path.write_bytes(text.encode())

    assert read_transactions(path).table.to_pylist() == [
        {"trans_id": 7, "account_id": 1, "date": date(1993, 1, 5), "kind": "pension", "amount_minor": 1000}
    ]


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path: Path) -> None:
    """The path above the file says nothing about its rows."""
    folder = tmp_path / "kind=loan"
    folder.mkdir()

    assert column(read_transactions(parquet_file(folder)), "kind") == ["pension", "loan"]


def test_a_file_without_rows_has_no_transactions(tmp_path: Path) -> None:
    """A header is a complete file: a day without business."""
    transactions = read_transactions(csv_file(tmp_path))

    assert (transactions.account_ids(), transactions.days(), transactions.kinds()) == ((), (), ())
    assert transactions.of(kind_named("loan")).transactions == ()


def test_a_batch_holds_one_kind_in_posting_order(tmp_path: Path) -> None:
    """By day, then by id, whatever the order in the file; each with the row that it stands in."""
    path = csv_file(
        tmp_path,
        "2,1,1993-01-06,pension,1.00",
        "5,2,1993-01-05,pension,2.00",
        "3,2,1993-01-05,loan,-3.00",
        "4,1,1993-01-05,pension,4.00",
        "1,1,1993-01-07,loan,-5.00",
    )
    transactions = read_transactions(path)

    batch = transactions.of(kind_named("pension"))

    assert batch.place == path
    assert batch.kind == kind_named("pension")
    assert batch.account_ids() == (1, 2)
    assert batch.transactions == (
        Transaction(row=4, trans_id=4, account_id=1, day=date(1993, 1, 5), amount_minor=400),
        Transaction(row=2, trans_id=5, account_id=2, day=date(1993, 1, 5), amount_minor=200),
        Transaction(row=1, trans_id=2, account_id=1, day=date(1993, 1, 6), amount_minor=100),
    )


@pytest.mark.parametrize(
    ("bad_row", "problem", "column_name", "value"),
    [
        (",1,1993-01-05,pension,1.00", Problem.NULL, "trans_id", None),
        ("8,,1993-01-05,pension,1.00", Problem.NULL, "account_id", None),
        ("8,1,,pension,1.00", Problem.NULL, "date", None),
        ('8,1,1993-01-05,"",1.00', Problem.NULL, "kind", None),
        ("8,1,1993-01-05,pension,", Problem.NULL, "amount", None),
        ("8.0,1,1993-01-05,pension,1.00", Problem.NOT_AN_INTEGER, "trans_id", "8.0"),
        ("0x8,1,1993-01-05,pension,1.00", Problem.NOT_AN_INTEGER, "trans_id", "0x8"),
        ("8,one,1993-01-05,pension,1.00", Problem.NOT_AN_INTEGER, "account_id", "one"),
        ("8,9223372036854775808,1993-01-05,pension,1", Problem.OUT_OF_RANGE, "account_id", "9223372036854775808"),
        ("8,1,5.1.1993,pension,1.00", Problem.NOT_A_DATE, "date", "5.1.1993"),
        ("8,1,1993-02-29,pension,1.00", Problem.NOT_A_DATE, "date", "1993-02-29"),
        ("8,1,0000-01-01,pension,1.00", Problem.NOT_A_DATE, "date", "0000-01-01"),
        ("8,1,1993-01-05T09:30,pension,1.00", Problem.NOT_A_WHOLE_DAY, "date", "1993-01-05T09:30"),
        ("8,1,1993-01-05,bribe,1.00", Problem.UNKNOWN_KIND, "kind", "bribe"),
        ("8,1,1993-01-05,Pension,1.00", Problem.UNKNOWN_KIND, "kind", "Pension"),
        ("8,1,1993-01-05,pension,NaN", Problem.NOT_AN_AMOUNT, "amount", "NaN"),
        ("8,1,1993-01-05,pension,inf", Problem.NOT_AN_AMOUNT, "amount", "inf"),
        ("8,1,1993-01-05,pension,1e3", Problem.NOT_AN_AMOUNT, "amount", "1e3"),
        ('8,1,1993-01-05,pension,"1,50"', Problem.NOT_AN_AMOUNT, "amount", "1,50"),
        ("8,1,1993-01-05,pension,1.005", Problem.TOO_PRECISE, "amount", "1.005"),
        ("8,1,1993-01-05,pension,1.0001000", Problem.TOO_PRECISE, "amount", "1.0001000"),
        ("8,1,1993-01-05,pension,92233720368547758.08", Problem.OUT_OF_RANGE, "amount", "92233720368547758.08"),
        ("8,1,1993-01-05,standing_order,1.00", Problem.WRONG_SIGN, "amount", "1.00"),
        ("8,1,1993-01-05,balance_fee,0.01", Problem.WRONG_SIGN, "amount", "0.01"),
        ("8,1,1993-01-05,percentage_interest,-0.25", Problem.WRONG_SIGN, "amount", "-0.25"),
    ],
)
def test_a_bad_value_in_csv_is_named(
    tmp_path: Path, bad_row: str, problem: Problem, column_name: str, value: object
) -> None:
    """File, row and value: enough to mend it. The good rows around it are not returned either."""
    error = refusal(csv_file(tmp_path, "6,1,1993-01-04,pension,1.00", GOOD, bad_row, "9,1,1993-01-07,pension,1.00"))

    assert (error.problem, error.row, error.column, error.value) == (problem, 3, column_name, value)
    assert "bank.csv, row 3" in str(error)


DAY = datetime(1993, 1, 5)  # noqa: DTZ001 - timestamps without a zone are what is tested


@pytest.mark.parametrize(
    ("column_name", "values", "problem", "row", "value"),
    [
        ("trans_id", pa.array([7, None]), Problem.NULL, 2, None),
        ("trans_id", pa.array([7.0, 8.5]), Problem.NOT_AN_INTEGER, 2, 8.5),
        ("trans_id", pa.array([7.0, 8.0]), Problem.WRONG_TYPE, None, "double"),
        ("account_id", pa.array([1, 2**63], pa.uint64()), Problem.OUT_OF_RANGE, 2, 2**63),
        ("account_id", pa.array([True, False]), Problem.WRONG_TYPE, None, "bool"),
        ("date", pa.array([DAY, None]), Problem.NULL, 2, None),
        (
            "date",
            pa.array([DAY, DAY + timedelta(microseconds=1)]),
            Problem.NOT_A_WHOLE_DAY,
            2,
            "1993-01-05 00:00:00.000001",
        ),
        (
            "date",
            pa.array([0, 86_400_000_000_001], pa.timestamp("ns")),
            Problem.NOT_A_WHOLE_DAY,
            2,
            "1970-01-02 00:00:00.000000001",
        ),
        ("date", pa.array([0, 3_000_000], pa.int32()).cast(pa.date32()), Problem.NOT_A_DATE, 2, "10183-09-21"),
        (
            "date",
            pa.array([DAY.replace(tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
            Problem.WRONG_TYPE,
            None,
            "timestamp[us, tz=UTC]",
        ),
        ("kind", pa.array([1, 2]), Problem.WRONG_TYPE, None, "int64"),
        ("kind", pa.array(["pension", None]), Problem.NULL, 2, None),
        ("amount", pa.array([1.0, float("nan")]), Problem.NOT_AN_AMOUNT, 2, "nan"),
        ("amount", pa.array([1.0, float("-inf")]), Problem.NOT_AN_AMOUNT, 2, float("-inf")),
        ("amount", pa.array([0.1, 0.1 + 0.2]), Problem.TOO_PRECISE, 2, 0.1 + 0.2),
        ("amount", pa.array([1.0, 1e13]), Problem.OUT_OF_RANGE, 2, 1e13),
        ("amount", pa.array([0.5, 0.5], pa.float32()), Problem.WRONG_TYPE, None, "float"),
        (
            "amount",
            pa.array([Decimal("1.000"), Decimal("1.005")], pa.decimal128(12, 3)),
            Problem.TOO_PRECISE,
            2,
            Decimal("1.005"),
        ),
        (
            "amount",
            pa.array([Decimal("1.00"), Decimal("92233720368547758.08")], pa.decimal128(38, 2)),
            Problem.OUT_OF_RANGE,
            2,
            Decimal("92233720368547758.08"),
        ),
        ("amount", pa.array([1, 2**62]), Problem.OUT_OF_RANGE, 2, 2**62),
        ("amount", pa.array([None, None], pa.decimal128(12, 2)), Problem.NULL, 1, None),
    ],
)
def test_a_bad_value_in_parquet_is_named(
    tmp_path: Path, column_name: str, values: pa.Array, problem: Problem, row: int | None, value: object
) -> None:
    """The row and value as stored; for a column of the wrong type, the type."""
    error = refusal(parquet_file(tmp_path, **{column_name: values}))
    shown = "nan" if isinstance(error.value, float) and error.value != error.value else error.value

    assert (error.problem, error.row, error.column, shown) == (problem, row, column_name, value)


@pytest.mark.parametrize("bad_at", [1, 2, 500, 999, 1000])
def test_the_first_bad_row_is_found_wherever_it_is(tmp_path: Path, bad_at: int) -> None:
    """The search for it halves the file, so its ends and middle matter; a later bad row must not be named."""
    amounts = [Decimal("1.000")] * (bad_at - 1) + [Decimal("1.001")] * (1001 - bad_at)
    rows = pa.table(
        {
            "trans_id": pa.array(range(1000)),
            "account_id": pa.array([1] * 1000),
            "date": pa.array([date(1993, 1, 5)] * 1000),
            "kind": pa.array(["pension"] * 1000),
            "amount": pa.array(amounts, pa.decimal128(12, 3)),
        }
    )
    pq.write_table(rows, tmp_path / "bank.parquet", row_group_size=300)

    assert refusal(tmp_path / "bank.parquet").row == bad_at


def test_a_duplicate_id_names_both_rows(tmp_path: Path) -> None:
    """One of the two is wrong, and only a person can say which."""
    error = refusal(csv_file(tmp_path, GOOD, "8,1,1993-01-05,pension,1.00", "7,2,1993-01-09,loan,-1.00"))

    assert (error.problem, error.column, error.value) == (Problem.DUPLICATE, "trans_id", 7)
    assert (error.earlier_row, error.row) == (1, 3)


@pytest.mark.parametrize("lacking", HEADER.split(","))
def test_a_lacking_column_is_named(tmp_path: Path, lacking: str) -> None:
    """In either format; a file without any header lacks its columns, too."""
    names = [name for name in HEADER.split(",") if name != lacking]
    parquet = parquet_file(tmp_path)
    pq.write_table(pq.read_table(parquet).select(names), parquet)

    for path in (csv_file(tmp_path, header=",".join(names)), parquet):
        error = refusal(path)
        assert (error.problem, error.column, error.row) == (Problem.LACKING_COLUMN, lacking, None)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Which of the two was meant cannot be told."""
    error = refusal(csv_file(tmp_path, GOOD + ",11.00", header=HEADER + ",amount"))

    assert (error.problem, error.column) == (Problem.REPEATED_COLUMN, "amount")


@pytest.mark.parametrize("bad_row", ["8,1,1993-01-05,pension", "8,1,1993-01-05,pension,1,50"])
def test_a_ragged_row_is_named(tmp_path: Path, bad_row: str) -> None:
    """A decimal comma without quotes shifts the fields; blank lines are not counted."""
    error = refusal(csv_file(tmp_path, GOOD, "", bad_row))

    assert (error.problem, error.row) == (Problem.RAGGED_ROW, 2)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """The name is most likely mistyped."""
    assert refusal(tmp_path / "no.parquet").problem is Problem.MISSING_FILE


@pytest.mark.parametrize("name", ["bank.xlsx", "bank", "bank.csv.gz"])
def test_an_unknown_format_is_an_error(tmp_path: Path, name: str) -> None:
    """The format is told by the name and never guessed from the content."""
    (tmp_path / name).write_text(HEADER + "\n", encoding="utf-8")

    assert refusal(tmp_path / name).problem is Problem.UNKNOWN_FORMAT


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bank.parquet", b"PAR1 but cut short"),
        ("bank.parquet", b""),
        ("bank.csv", b"\xff\xfe\x00"),
        ("bank.csv", HEADER.encode() + b"\n7,1,1993-01-05,pensi\xf3n,1.00\n"),
    ],
)
def test_a_damaged_file_is_an_error(tmp_path: Path, name: str, content: bytes) -> None:
    """The reader's own words are passed on as the reason."""
    (tmp_path / name).write_bytes(content)

    error = refusal(tmp_path / name)

    assert error.problem is Problem.UNREADABLE_FILE
    assert error.reason


def test_a_parquet_file_cut_in_the_middle_is_an_error(tmp_path: Path) -> None:
    """The footer can be whole while a column is not."""
    path = parquet_file(tmp_path)
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    path.write_bytes(content)

    assert refusal(path).problem is Problem.UNREADABLE_FILE


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    """A data set of many files is not read in parts."""
    (tmp_path / "bank.parquet").mkdir()

    assert refusal(tmp_path / "bank.parquet").problem is Problem.UNREADABLE_FILE


def test_an_unknown_account_is_named_with_its_first_row(tmp_path: Path) -> None:
    """The table cannot take the posting; the row first in the file is shown, not the first to be posted."""
    path = csv_file(
        tmp_path, "9,1,1993-01-05,pension,1.00", "8,5,1993-01-06,pension,1.00", "2,4,1993-01-05,pension,1.00"
    )
    batch = read_transactions(path).of(kind_named("pension"))

    require_accounts(batch, {1, 4, 5})
    with pytest.raises(UnknownAccountError) as caught:
        require_accounts(batch, {1})

    assert (caught.value.place, caught.value.row, caught.value.account_id) == (path, 2, 5)
    assert caught.value.problem is Problem.UNKNOWN_ACCOUNT


def test_every_refusal_is_of_seriatim() -> None:
    """A caller that catches SeriatimError catches bad input, too."""
    assert issubclass(TransactionsError, SeriatimError)


def test_recorded_balances_are_those_after_the_last_transaction(tmp_path: Path) -> None:
    """On the last day the balances say which came last: 15 -> 45 -> 25, though the ids and rows say otherwise."""
    path = csv_file(
        tmp_path,
        "3,1,1993-01-06,loan,-20.00,25.00",
        "9,1,1993-01-06,pension,30.00,45.10",  # Rounded by the bank: not exactly where the next one starts.
        "5,1,1993-01-05,pension,15.00,15.00",
        "8,2,1993-01-05,pension,0.07,0.07",
        "7,2,1993-01-06,pension,0.01,0.08",
        header=HEADER + ",recorded_balance",
    )

    assert read_recorded_balances(path) == {1: 2500, 2: 8}


def test_there_may_be_no_recorded_balances(tmp_path: Path) -> None:
    """The column is extra: None says that there is nothing to compare with."""
    assert read_recorded_balances(csv_file(tmp_path, GOOD)) is None


def test_a_bad_recorded_balance_is_named(tmp_path: Path) -> None:
    """It does not keep the transactions from being read, only the comparison."""
    path = csv_file(tmp_path, GOOD + ",x", header=HEADER + ",recorded_balance")

    assert len(read_transactions(path).table) == 1
    with pytest.raises(TransactionsError) as caught:
        read_recorded_balances(path)
    assert (caught.value.problem, caught.value.row, caught.value.column) == (
        Problem.NOT_AN_AMOUNT,
        1,
        "recorded_balance",
    )


@pytest.mark.skipif(REAL is None, reason="SERIATIM_TRANSACTIONS_REAL names no file: the real bank year is not at hand")
class TestRealBankYear:
    """The real file, against sums of its decimals made without any of our code."""

    def test_it_has_all_its_transactions(self) -> None:
        """A year of a real bank, whole."""
        transactions = read_transactions(str(REAL))

        assert len(transactions.table) == 28_205
        assert len(transactions.account_ids()) == 1_139
        assert (transactions.days()[0], transactions.days()[-1]) == (date(1993, 1, 1), date(1993, 12, 31))
        assert transactions.kinds() == KINDS[:11]

    def test_the_totals_per_kind_are_right_to_the_cent(self) -> None:
        """The batches of all days together hold each transaction of a kind once, with its exact amount."""
        totals: dict[str, Decimal] = defaultdict(Decimal)
        for row in pq.read_table(REAL).to_pylist():
            totals[row["kind"]] += row["amount"]
        transactions = read_transactions(str(REAL))

        for kind in transactions.kinds():
            batch = transactions.of(kind)
            assert sum(each.amount_minor for each in batch.transactions) == totals[kind.name] * 100

    def test_the_recorded_balances_are_near_the_plain_sums(self) -> None:
        """The bank rounds interest: its balances differ from the sums by some tens of cents, never by a payment."""
        sums: dict[int, Decimal] = defaultdict(Decimal)
        for row in pq.read_table(REAL).to_pylist():
            sums[row["account_id"]] += row["amount"]

        recorded = read_recorded_balances(str(REAL))

        assert recorded is not None
        assert recorded.keys() == sums.keys()
        assert max(abs(recorded[account_id] - sums[account_id] * 100) for account_id in sums) == 60
