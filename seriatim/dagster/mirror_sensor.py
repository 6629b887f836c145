"""The sensor that starts the mirror when the Delta table has a new version, and tells how far behind the mirror is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import dagster as dg
from pyiceberg.exceptions import NoSuchTableError

from seriatim.dagster.catalog import IcebergCatalog
from seriatim.dagster.delta_source import DeltaSource
from seriatim.errors import DeltaLogError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

VERSION_TAG: Final = "seriatim/mirror"
TRIES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Lag:
    """How far the mirror is behind."""

    table: str
    delta_version: int
    version: int | None  # None: nothing is mirrored

    @property
    def lag(self) -> int:
        """How many versions are not mirrored yet."""
        from seriatim.mirror.receipt import versions_behind

        return versions_behind(self.version, self.delta_version)

    def sentence(self) -> str:
        """Return it in words."""
        at = "empty" if self.version is None else f"at version {self.version}"
        return f"{self.table} is {at} of {self.delta_version}, lag {self.lag}"


def mirror_sensor(
    *,
    name: str,
    job: dg.JobDefinition | dg.UnresolvedAssetJobDefinition,
    asset_key: dg.AssetKey,
    identifier: tuple[str, ...],
    source_resource_key: str,
    catalog_resource_key: str = "catalog",
    tries_max: int = TRIES_MAX,
    minimum_interval_s: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that launches `job` once for each new latest version of the Delta table.

    A version whose run has ended and that is not in the mirror all the same is launched again, up to `tries_max` runs
    in all; the next version, or a launch by hand, goes on from there. While a run is at it, none is launched.
    Each change of the lag is an observation of `asset_key`. A table that is not there yet is waited for.
    """

    @dg.sensor(
        name=name,
        job=job,
        required_resource_keys={catalog_resource_key, source_resource_key},
        minimum_interval_seconds=minimum_interval_s,
        default_status=default_status,
        description=f"Mirrors each new version of the Delta table to {'.'.join(identifier)}, and tells the lag.",
    )
    def mirror_new_versions(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        catalog: IcebergCatalog = getattr(context.resources, catalog_resource_key)
        source: DeltaSource = getattr(context.resources, source_resource_key)
        try:
            found = look(catalog.load(), identifier, source)
        except DeltaLogError as err:
            return dg.SensorResult(skip_reason=f"there is nothing to mirror: {err}", cursor=context.cursor)
        requests, why = _next_run(context.instance, found, tries_max)
        said = f"{found.version}/{found.delta_version}"
        return dg.SensorResult(
            run_requests=requests or None,
            skip_reason=None if requests else f"{found.sentence()}{why}",
            cursor=said,
            asset_events=[_observation(found, asset_key)] if said != context.cursor else [],
        )

    return mirror_new_versions


def look(catalog: Catalog, identifier: tuple[str, ...], source: DeltaSource) -> Lag:
    """Compare the mirror with its Delta table.

    Raises:
        DeltaLogError: there is no Delta table, or its log cannot be read.
    """
    from seriatim.mirror import delta_version_of
    from seriatim.mirror.delta.log import DeltaLog

    delta_version = DeltaLog.open(source.uri(), source.options()).latest_version()
    try:
        version = delta_version_of(catalog.load_table(identifier))
    except NoSuchTableError:
        version = None
    return Lag(".".join(identifier), delta_version, version)


def _next_run(instance: dg.DagsterInstance, found: Lag, tries_max: int) -> tuple[Sequence[dg.RunRequest], str]:
    """Return the run to launch, or why there is none."""
    if found.lag <= 0:
        return [], ""
    key = f"{found.table}@{found.delta_version}"
    tried = instance.get_runs(dg.RunsFilter(tags={VERSION_TAG: key}))
    busy = [run.run_id for run in tried if not run.is_finished]
    if busy:
        return [], f"; run {busy[0]} is at it"
    if len(tried) >= tries_max:
        return [], f"; {len(tried)} runs have not landed it, see {tried[0].run_id}: launch the job when that is mended"
    run_key = f"{key}#{len(tried)}" if tried else key
    return [dg.RunRequest(run_key=run_key, tags={VERSION_TAG: key})], ""


def _observation(found: Lag, asset_key: dg.AssetKey) -> dg.AssetObservation:
    return dg.AssetObservation(
        asset_key=asset_key,
        description=f"{found.sentence()}.",
        metadata={
            "lag": dg.MetadataValue.int(found.lag),
            "version": dg.MetadataValue.int(-1 if found.version is None else found.version),
            "delta_version": dg.MetadataValue.int(found.delta_version),
        },
    )
