"""`python3 run.py screenshots`: make a small bank in a folder of its own, and the documents' pictures of it.

Exit codes: 0 the pictures are made; 1 they are not; 2 there is no Chromium.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import dagster as dg

from pipelines.screenshots.bank import Bank, NoConflictError, PostingFailedError, bank_under
from pipelines.screenshots.browser import browser_page, chromium
from pipelines.screenshots.customers import BackfillFailedError, Customers
from pipelines.screenshots.pictures import PARTITIONS, Picture, picture_of, pictures_of_runs, take, without_navigation
from pipelines.screenshots.webserver import webserver

_DEPOSIT_KEY: Final = dg.AssetKey(["bank", "cash_deposit"])


def main(arguments: list[str] | None = None) -> int:
    """Make the pictures and return the exit code."""
    options = _parser().parse_args(arguments)
    executable = chromium()
    if executable is None:
        print("There is neither chromium nor google-chrome on the PATH: install one (Debian: apt install chromium).")
        return 2
    options.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="seriatim-screenshots-") as folder:
        bank = bank_under(Path(folder))
        os.environ.update(bank.place.environment())
        print("A bank is made, and posted by overlapping runs: a minute or two.", flush=True)
        try:
            bank.prepare()
            bank.post()
            _take_all(bank, executable, options.into)
            customers = Customers(Path(folder) / "customers")
            with customers.backfilled() as url:
                _take(executable, url, [PARTITIONS], options.into)
        except (PostingFailedError, NoConflictError, BackfillFailedError) as err:
            print(err)
            return 1
    return 0


def _take_all(bank: Bank, executable: str, folder: Path) -> None:
    """Take the pictures; then write past the bank, and take the one of a check that says so."""
    with webserver(bank.place.environment(), bank.place.home / "webserver.log") as url:
        green = [each for each in bank.check() if each.passed]
        assert green, "every check of a bank that nobody has written past is red"
        _take(executable, url, (*pictures_of_runs(bank.lost_at_ms(_DEPOSIT_KEY)), picture_of(green[0])), folder)
        bank.write_past_it()
        was_green = {(each.asset_key, each.check_name) for each in green}
        red = [each for each in bank.check() if not each.passed and (each.asset_key, each.check_name) in was_green]
        assert red, "no check of a bank that somebody has written past turned red"
        _take(executable, url, [picture_of(red[0])], folder)


def _take(executable: str, url: str, pictures: Sequence[Picture], folder: Path) -> None:
    """Take pictures by a browser of their own: no run may be in a process while one is open there (asyncio)."""
    with browser_page(executable) as page:
        without_navigation(page, url)
        for picture in pictures:
            print(take(page, url, picture, folder), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run.py screenshots", description="The documents' pictures of the UI.")
    parser.add_argument("--into", type=Path, default=Path("docs/images"), help="folder, default docs/images")
    return parser


if __name__ == "__main__":
    sys.exit(main())
