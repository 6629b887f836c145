"""The sensor that says of each failed run whether its change has landed all the same.

A run that fails has not failed to write: its process may have died after the commit. It reads the event log by itself.
Dagster's run-failure sensors go on when their body has raised, so that a catalog which is away would cost the answer,
and take one run per tick where the body returns something.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import dagster as dg
from pyiceberg.exceptions import NoSuchTableError

from seriatim.dagster.catalog import IcebergCatalog
from seriatim.dagster.conflicts import EVENT, snapshot_text
from seriatim.dagster.failed_run import change_of
from seriatim.dagster.markdown import listed, markdown_table, run_link
from seriatim.times import readable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from seriatim.dagster.landed import Landed

FAILURE: Final = "run_failure"
BATCH_MAX: Final = 50
OVERLAP: Final = 500
_SHOWN_MAX: Final = 100  # operation ids


@dataclass(frozen=True, slots=True)
class Place:
    """How far the failures in the event log have been told: the cursor."""

    begins_at: int  # the storage id after which failures are told at all
    storage_id: int  # of the last one that was told
    told: Mapping[str, int]  # run id -> storage id, of those that will be looked at once more

    @classmethod
    def of(cls, cursor: str | None) -> Place | None:
        """Read a cursor; None: there is none, or another sensor's."""
        try:
            words = json.loads(cursor or "")
            told = {str(run_id): int(at) for run_id, at in words["told"].items()}
            return cls(int(words["begins_at"]), int(words["storage_id"]), told)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    def cursor(self) -> str:
        """Return it as a cursor."""
        return json.dumps({"begins_at": self.begins_at, "storage_id": self.storage_id, "told": dict(self.told)})

    def after(self, run_id: str, storage_id: int, *, overlap: int) -> Place:
        """Return the place when a failure has been told."""
        last = max(self.storage_id, storage_id)
        told = {**self.told, run_id: storage_id}
        return replace(self, storage_id=last, told={id_: at for id_, at in told.items() if at > last - overlap})


def failure_sensor(  # Options, by name.
    *,
    name: str,
    asset_key: dg.AssetKey,
    identifier: tuple[str, ...],
    writers: Collection[dg.AssetKey] | None = None,
    streams: Mapping[dg.AssetKey, str] | None = None,
    catalog_resource_key: str = "catalog",
    batch_max: int = BATCH_MAX,
    overlap: int = OVERLAP,
    minimum_interval_s: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that looks in the table `identifier` for what each failed run was to write, and tells it.

    Told is whether all, a part or nothing of it has landed, in which snapshots, by which operation ids, and what to do:
    as an observation of `asset_key` and in the tick. Runs of none of `writers`, the assets that write the table (by
    default, all), are passed over. Those of them that consume a stream are named in `streams`, by the stream's name:
    what they do is known by its steps; what the others do, by the launch (`seriatim.dagster.operation_ids`).

    Told are the failures after the first tick. While a run cannot be looked up, the tick says why, and the next one
    tries again. A failure may be told twice, when the daemon dies in between.
    """

    @dg.sensor(
        name=name,
        required_resource_keys={catalog_resource_key},
        minimum_interval_seconds=minimum_interval_s,
        default_status=default_status,
        description=f"Says of each failed run whether its change of {'.'.join(identifier)} has landed all the same.",
    )
    def tell(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        from seriatim.dagster.landed import landed

        place = Place.of(context.cursor)
        if place is None:
            begin = _newest(context.instance)
            return dg.SensorResult(skip_reason="failures are told from now on", cursor=Place(begin, begin, {}).cursor())
        resource: IcebergCatalog = getattr(context.resources, catalog_resource_key)
        said: list[str] = []
        events: list[dg.AssetObservation] = []
        for run_id, storage_id in _failures(context.instance, place, batch_max=batch_max, overlap=overlap):
            run = context.instance.get_run_by_id(run_id)
            change = run and change_of(run, context.instance, writers=writers, streams=streams or {})
            if run is not None and change:
                try:
                    found = landed(_table(resource.load(), identifier), change)
                except Exception as err:  # noqa: BLE001  # Whatever a catalog raises: the next tick asks again.
                    said.append(f"run {run_id} could not be looked up: {err}; it is tried again at the next tick")
                    context.log.error(said[-1])
                    break
                said.append(_sentence(run, found))
                context.log.info(said[-1])
                events.append(_observation(run, found, asset_key, said[-1]))
            place = place.after(run_id, storage_id, overlap=overlap)
        return dg.SensorResult(
            skip_reason=" ".join(said) or "no run has failed", cursor=place.cursor(), asset_events=events
        )

    return tell


def _newest(instance: dg.DagsterInstance) -> int:
    records = instance.fetch_run_status_changes(dg.DagsterEventType.RUN_FAILURE, limit=1).records
    return records[0].storage_id if records else 0


def _failures(instance: dg.DagsterInstance, place: Place, *, batch_max: int, overlap: int) -> Sequence[tuple[str, int]]:
    """Return the failed runs that are not told yet, with the storage ids of their failures.

    Some stores show an event with a lower id after one with a higher: what lies in the overlap is looked at again.
    """
    begin = max(place.begins_at, place.storage_id - overlap)
    again = dg.RunStatusChangeRecordsFilter(
        dg.DagsterEventType.RUN_FAILURE, after_storage_id=begin, before_storage_id=place.storage_id + 1
    )
    new = dg.RunStatusChangeRecordsFilter(dg.DagsterEventType.RUN_FAILURE, after_storage_id=place.storage_id)
    records = [
        *(instance.fetch_run_status_changes(again, limit=overlap, ascending=True).records if overlap else []),
        *instance.fetch_run_status_changes(new, limit=batch_max, ascending=True).records,
    ]
    return [(each.run_id, each.storage_id) for each in records if each.run_id not in place.told]


def _table(catalog: Catalog, identifier: tuple[str, ...]) -> Table | None:
    try:
        return catalog.load_table(identifier)
    except NoSuchTableError:
        return None


def _sentence(run: dg.DagsterRun, found: Landed) -> str:
    where = sorted({str(each) for each in found.applied.values() if each is not None})
    at = f" at snapshot {', '.join(where)}" if where else ""
    return f"Run {run.run_id} of {run.job_name} failed; {found.verdict.value}{at}. {found.next_step()}"


def _observation(run: dg.DagsterRun, found: Landed, asset_key: dg.AssetKey, sentence: str) -> dg.AssetObservation:
    rows = [
        (str(each.snapshot_ids[-1]), readable(each.committed_at_ms), run_link(each.run_id), listed(each.operation_ids))
        for each in found.commits
        if each.run_id is not None
    ]
    applied = {id_: "not remembered" if at is None else str(at) for id_, at in found.applied.items()}
    return dg.AssetObservation(
        asset_key=asset_key,
        description=sentence,
        metadata={
            EVENT: dg.MetadataValue.text(FAILURE),
            "run": dg.MetadataValue.dagster_run(run.run_id),
            "verdict": dg.MetadataValue.text(found.verdict.name.lower()),
            "next_step": dg.MetadataValue.text(found.next_step()),
            "landed": dg.MetadataValue.json(dict(list(applied.items())[:_SHOWN_MAX])),
            "not_landed": dg.MetadataValue.json(list(found.missing[:_SHOWN_MAX])),
            "cannot_be_told": dg.MetadataValue.json(dict(list(found.unclear.items())[:_SHOWN_MAX])),
            "head_snapshot_id": snapshot_text(found.head_snapshot_id),
            "commits_of_its_chain": dg.MetadataValue.md(
                markdown_table(("snapshot", "time (UTC)", "run", "operations"), rows)
            ),
        },
    )
