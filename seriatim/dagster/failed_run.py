"""What a run was launched to do to a table, from what Dagster keeps of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import dagster as dg

from seriatim.dagster.operation_ids import Launch, is_forced, operation_ids

_ROOT_RUN_TAG: Final = "dagster/root_run_id"
_CHAIN_MAX: Final = 100  # runs


@dataclass(frozen=True, slots=True)
class RunsChange:
    """What a run was launched to do to a table."""

    run_id: str
    chain: Collection[str]  # run ids: itself, and the others of its chain of retries and re-executions
    operation_ids: Sequence[str]
    streams: Sequence[str]  # whose next step it was to take; a step is named after the place where it ends
    issued_at_ms: int | None  # when the first run of the chain was made; None: not known
    created_at_ms: int | None  # when this run was made; None: not known


def change_of(
    run: dg.DagsterRun,
    instance: dg.DagsterInstance,
    *,
    writers: Collection[dg.AssetKey] | None,
    streams: Mapping[dg.AssetKey, str],
) -> RunsChange | None:
    """Return what the assets of a run were to do that are among `writers` (None: all); None: there is none of them."""
    planned = {key: keys for key, keys in _planned(run, instance).items() if writers is None or key in writers}
    if not planned:
        return None
    launches = {
        key: Launch.of_run(run, instance, key, partition_keys)
        for key, partition_keys in planned.items()
        if key not in streams
    }
    record = instance.get_run_record_by_id(run.run_id)
    created_at_ms = round(record.create_timestamp.timestamp() * 1000) if record else None
    root_id = run.root_run_id or run.run_id
    others = instance.get_runs(dg.RunsFilter(tags={_ROOT_RUN_TAG: root_id}), limit=_CHAIN_MAX)
    return RunsChange(
        run_id=run.run_id,
        chain={run.run_id, root_id, *(each.run_id for each in others)},
        operation_ids=[
            operation_id
            for key, launch in launches.items()
            for operation_id in operation_ids(launch, force=is_forced(_config(run.run_config, key)))
        ],
        streams=[streams[key] for key in planned if key in streams],
        issued_at_ms=next((launch.issued_at_ms for launch in launches.values()), None),
        created_at_ms=created_at_ms,
    )


def _planned(run: dg.DagsterRun, instance: dg.DagsterInstance) -> dict[dg.AssetKey, tuple[str, ...] | None]:
    """Return the assets that the run was to materialize, each with its partitions (None: it has none)."""
    found: dict[dg.AssetKey, list[str]] = defaultdict(list)
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED):
        if entry.dagster_event is None:
            continue
        planned = entry.dagster_event.asset_materialization_planned_data
        keys = found[planned.asset_key]
        if planned.partition is not None:
            keys.append(planned.partition)
        elif planned.partitions_subset is not None:  # Some stores keep a range as one event.
            keys += planned.partitions_subset.get_partition_keys()
    return {key: tuple(keys) or None for key, keys in found.items()}


def _config(run_config: Mapping[str, Any], key: dg.AssetKey) -> object:
    return run_config.get("ops", {}).get(key.to_python_identifier(), {}).get("config")
