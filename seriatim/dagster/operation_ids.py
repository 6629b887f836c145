"""The name of the logical change that a launch stands for: the same for a retry, another for a new change.

| launch                        | operation ids                                                          |
|-------------------------------|------------------------------------------------------------------------|
| of partitions                 | `<asset key>|<partition>`, one per partition, in partition order       |
| of partitions, forced         | `<asset key>|<partition>|run=<root run id>`, one per partition         |
| without partitions            | `<asset key>|run=<root run id>`                                        |
| without partitions, scheduled | `<asset key>|schedule=<schedule name>@<scheduled time>`, and           |
|                               | `|key=<run key>` where the tick requests several runs                  |

The root run id is that of the first run of a chain of retries and re-executions, so that they all are one change. A
schedule's tick keeps its name when two daemons launch it or when it is launched twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import dagster as dg

from seriatim.commit import Partitions
from seriatim.dagster.errors import OperationIdError

FORCE: Final = "force"

_SCHEDULE_NAME_TAG: Final = "dagster/schedule_name"
_SCHEDULED_TIME_TAG: Final = ".dagster/scheduled_execution_time"
_RUN_KEY_TAG: Final = "dagster/run_key"


@dataclass(frozen=True, slots=True)
class Tick:
    """One run that one evaluation of one schedule requested."""

    schedule_name: str
    scheduled_time: str
    run_key: str | None = None  # None: the schedule gave none, so that the tick requested one run (Dagster's rule)


@dataclass(frozen=True, slots=True)
class Launch:
    """What identifies the change that a step was launched to make."""

    asset_key: str
    run_id: str
    root_run_id: str | None = None  # None: this run re-executes no other
    partition_keys: tuple[str, ...] | None = None  # None: the asset has no partitions
    tick: Tick | None = None  # None: not launched by a schedule
    issued_at_ms: int | None = None  # when the root run was made; None: not known

    @classmethod
    def of(cls, context: dg.AssetExecutionContext) -> Launch:
        """Take the launch from the context of a running asset."""
        return cls.of_run(context.run, context.instance, context.asset_key, _partition_keys(context))

    @classmethod
    def of_run(
        cls,
        run: dg.DagsterRun,
        instance: dg.DagsterInstance,
        asset_key: dg.AssetKey,
        partition_keys: tuple[str, ...] | None,
    ) -> Launch:
        """Take the launch from a run; `partition_keys` is None for an asset without partitions."""
        name, time = run.tags.get(_SCHEDULE_NAME_TAG), run.tags.get(_SCHEDULED_TIME_TAG)
        return cls(
            asset_key=asset_key.to_escaped_user_string(),
            run_id=run.run_id,
            root_run_id=run.root_run_id,
            partition_keys=partition_keys,
            tick=Tick(name, time, run.tags.get(_RUN_KEY_TAG)) if name is not None and time is not None else None,
            issued_at_ms=_issued_at_ms(instance, run.root_run_id or run.run_id),
        )


@dataclass(frozen=True, slots=True)
class Operations:
    """What a launch is known by in the table: `apply` takes `plain_ids`, `partitions` and `issued_at_ms`."""

    ids: tuple[str, ...]  # one for each partition, in partition order; else one
    partitions: Partitions | None  # None: no partitions, or forced ones, which are a change of their own
    issued_at_ms: int | None

    @property
    def plain_ids(self) -> tuple[str, ...]:
        """The ids that are remembered for the ledger's window alone; partitions are remembered for ever."""
        return () if self.partitions else self.ids


def operations(launch: Launch, *, force: bool = False) -> Operations:
    """Return what a launch is known by; `force` makes it a new change, which shall land once more.

    Raises:
        OperationIdError: the asset has partitions, but the launch names none.
    """
    ids = operation_ids(launch, force=force)
    is_set = launch.partition_keys is not None and not force
    partitions = Partitions(launch.asset_key, launch.partition_keys or ()) if is_set else None
    return Operations(ids, partitions, launch.issued_at_ms)


def operation_ids(launch: Launch, *, force: bool = False) -> tuple[str, ...]:
    """Return the operation ids of a launch; `force` makes them new ones, for a change that shall land once more.

    Raises:
        OperationIdError: the asset has partitions, but the launch names none.
    """
    by_run = f"|run={launch.root_run_id or launch.run_id}"
    if launch.partition_keys is not None:
        if not launch.partition_keys:
            raise OperationIdError(launch.asset_key, reason="it has partitions, but the run names none")
        suffix = by_run if force else ""
        return tuple(f"{launch.asset_key}|{_escaped(key)}{suffix}" for key in launch.partition_keys)
    if launch.tick is None:
        return (f"{launch.asset_key}{by_run}",)
    tick = f"|schedule={_escaped(launch.tick.schedule_name)}@{launch.tick.scheduled_time}"
    if launch.tick.run_key is not None:
        tick += f"|key={_escaped(launch.tick.run_key)}"
    return (f"{launch.asset_key}{tick}{by_run if force else ''}",)


def is_forced(config: object) -> bool:
    """Whether the configuration by which an asset was launched says `force: true`."""
    return isinstance(config, Mapping) and config.get(FORCE) is True


def tick_tags(schedule_name: str, scheduled_time: datetime, run_key: str | None = None) -> dict[str, str]:
    """Return the tags by which a run is known as that of a tick: Dagster's scheduler sets the same."""
    tags = {_SCHEDULE_NAME_TAG: schedule_name, _SCHEDULED_TIME_TAG: scheduled_time.astimezone(UTC).isoformat()}
    return tags if run_key is None else {**tags, _RUN_KEY_TAG: run_key}


def _issued_at_ms(instance: dg.DagsterInstance, run_id: str) -> int | None:
    record = instance.get_run_record_by_id(run_id)
    return round(record.create_timestamp.timestamp() * 1000) if record is not None else None


def _partition_keys(context: dg.AssetExecutionContext) -> tuple[str, ...] | None:
    if context.assets_def.partitions_def is None:
        return None
    return tuple(context.partition_keys) if context.has_partition_key or context.has_partition_key_range else ()


def _escaped(name: str) -> str:
    """Keep `|` for ourselves, so that no partition can be named like another partition's forced run."""
    return name.replace("%", "%25").replace("|", "%7C")
