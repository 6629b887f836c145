"""What the pictures show: where in the UI each is, and what is done there before it is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import dagster as dg
from playwright.sync_api import Page

_WIDTH: Final = 1400
_CHECK: Final = 725  # What is below are plots, of little use here.


def _as_it_is(page: Page) -> None:
    """Do nothing to a page."""
    del page


@dataclass(frozen=True, slots=True)
class Picture:
    """A page of the UI; it is shown when `shows`, a text, is to be seen on it, and then `prepare` is done."""

    name: str
    path: str
    shows: str
    height: int = 900
    prepare: Callable[[Page], None] = _as_it_is


def take(page: Page, url: str, picture: Picture, folder: Path) -> Path:
    """Take a picture of the UI at `url`, and return its file."""
    page.set_viewport_size({"width": _WIDTH, "height": picture.height})
    page.goto(url + picture.path)
    page.get_by_text(picture.shows, exact=True).first.wait_for()
    page.wait_for_load_state("networkidle")
    picture.prepare(page)
    page.wait_for_load_state("networkidle")
    page.mouse.move(0, 0)  # Nothing is to look as if it were pointed at.
    file = folder / f"{picture.name}.png"
    page.screenshot(path=file, animations="disabled")
    return file


def without_navigation(page: Page, url: str) -> None:
    """Make the UI's navigation narrow, on every page from then on."""
    page.goto(f"{url}/assets")
    page.get_by_text("Hide navigation").click()


def _zoom_out(page: Page) -> None:
    for _ in range(2):
        page.get_by_label("zoom_out").click()


def _show_lineage(page: Page) -> None:
    page.get_by_role("row").filter(has_text="lineage").get_by_text("[Show Markdown]").click()
    page.get_by_role("dialog").get_by_text("operations", exact=True).wait_for()


def _show_conflicts(page: Page) -> None:
    page.get_by_role("row").filter(has_text="latest").get_by_text("[Show Markdown]").click()
    page.get_by_role("dialog").get_by_text("winner", exact=True).wait_for()


def _show_plots(page: Page) -> None:
    page.get_by_role("button", name="Plots").click()
    page.locator("canvas").first.wait_for()
    page.get_by_text("Metadata", exact=True).evaluate("heading => heading.scrollIntoView()")


_DEPOSIT: Final = "/assets/bank/cash_deposit"


def pictures_of_runs(lost_at_ms: int) -> tuple[Picture, ...]:
    """Return the pictures of a bank that runs have posted; at `lost_at_ms` landed a deposit that had lost before."""
    event = f"{_DEPOSIT}?view=events&time={lost_at_ms}"
    return (
        Picture("asset-graph", "/locations/bank/asset-groups/bank/lineage", "loan", 1400, _zoom_out),
        Picture("deposit-events", event, "wasted_ms", 1375),
        Picture("deposit-lineage", event, "wasted_ms", 900, _show_lineage),
        Picture("deposit-plots", _DEPOSIT, "Metadata", 770, _show_plots),
        Picture("conflicts", "/assets/bank/conflicts?view=events", "conflicts_recorded", 900, _show_conflicts),
    )


PARTITIONS: Final = Picture("partitions", "/assets/shop?view=partitions&partition=2026-11-05", "already_applied", 1090)
"""Of the example of another project, of which two backfills have overlapped."""


def picture_of(check: dg.AssetCheckEvaluation) -> Picture:
    """Return the picture of a check as it is now."""
    page = f"/assets/{'/'.join(check.asset_key.path)}?view=checks&checkDetail={check.check_name}"
    return (
        Picture("check-green", page, "Passed", _CHECK) if check.passed else Picture("check-red", page, "Failed", _CHECK)
    )
