"""What a code location defines, as text: one paragraph for each thing, sorted, so that a difference can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import dagster as dg


def as_text(defs: dg.Definitions) -> str:
    """Return assets, checks, jobs, schedules, sensors and resources by all that others may rely on."""
    sections = (_assets(defs), _checks(defs), _jobs(defs), _schedules(defs), _sensors(defs), _resources(defs))
    return "\n".join(paragraph for section in sections for paragraph in sorted(section))


def _assets(defs: dg.Definitions) -> Iterator[str]:
    graph = defs.resolve_asset_graph()
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        tags = {name: value for name, value in node.tags.items() if not name.startswith("dagster/kind/")}
        yield _paragraph(
            f"asset {key.to_user_string()}",
            {
                "group": node.group_name,
                "kinds": _listed(node.kinds),
                "owners": _listed(node.owners),
                "deps": _listed(parent.to_user_string() for parent in node.parent_keys),
                "tags": _listed(f"{name}={value}" for name, value in tags.items()),
                "partitions": node.partitions_def,
                "automation": node.automation_condition,
                "made by": _op(node.assets_def) if node.is_executable else "others (external)",
            },
        )


def _checks(defs: dg.Definitions) -> Iterator[str]:
    graph = defs.resolve_asset_graph()
    for key in graph.asset_check_keys:
        spec = graph.get_check_spec(key)
        yield _paragraph(
            f"check {key.asset_key.to_user_string()}:{key.name}",
            {
                "blocking": "yes" if spec.blocking else "no",
                "automation": spec.automation_condition,
                "made by": _op(graph.assets_def_for_key(key)),
            },
        )


def _jobs(defs: dg.Definitions) -> Iterator[str]:
    for job in defs.resolve_all_job_defs():
        if job.name.startswith("__"):
            continue  # Dagster's own, of all assets.
        layer = job.asset_layer
        yield _paragraph(
            f"job {job.name}",
            {
                "assets": _listed(key.to_user_string() for key in layer.executable_asset_keys),
                "checks": _listed(
                    f"{key.asset_key.to_user_string()}:{key.name}" for key in layer.asset_graph.asset_check_keys
                ),
                "executor": job.executor_def.name,
                "partitions": job.partitions_def,
                "tags": _listed(f"{name}={value}" for name, value in job.tags.items()),
            },
        )


def _schedules(defs: dg.Definitions) -> Iterator[str]:
    for name in {schedule.name for schedule in defs.schedules or []}:
        schedule = defs.resolve_schedule_def(name)
        yield _paragraph(
            f"schedule {name}",
            {
                "job": schedule.job_name,
                "cron": schedule.cron_schedule,
                "timezone": schedule.execution_timezone,
                "status": schedule.default_status.value,
            },
        )


def _sensors(defs: dg.Definitions) -> Iterator[str]:
    for name in {sensor.name for sensor in defs.sensors or []}:
        sensor = defs.resolve_sensor_def(name)
        yield _paragraph(
            f"sensor {name}",
            {
                "type": sensor.sensor_type.value,
                "jobs": _listed(target.job_name for target in sensor.targets),
                "status": sensor.default_status.value,
                "interval": f"{sensor.minimum_interval_seconds} s",
                "resources": _listed(sensor.required_resource_keys),
            },
        )


def _resources(defs: dg.Definitions) -> Iterator[str]:
    for name, resource in (defs.resources or {}).items():
        fields = type(resource).model_fields if isinstance(resource, dg.ConfigurableResource) else {}
        yield _paragraph(f"resource {name}", {"type": type(resource).__name__, "fields": _listed(fields)})


def _op(definition: dg.AssetsDefinition) -> str:
    """Return the name under which its configuration is given, with the fields of that and the resources it takes."""
    op = definition.op
    fields: Mapping[str, Any] = getattr(op.config_schema.config_type, "fields", None) or {}
    takes = _listed([*(f"config.{field}" for field in fields), *op.required_resource_keys])
    return f"{op.name}({takes})"


def _paragraph(title: str, facts: Mapping[str, object]) -> str:
    lines = [f"    {name}: {fact}" for name, fact in facts.items() if fact not in (None, "")]
    return "\n".join([title, *lines, ""])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
