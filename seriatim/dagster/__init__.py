"""Seriatim for Dagster projects: a resource whose `apply` makes a run's change once, and what tells of it.

@dg.asset(partitions_def=daily)
def deposits(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult:
    return catalog.apply(context, "bank.account", add_deposits)

The pieces that it is made of are public, too: `Launch` and `operations` (what a launch is known by), `ConflictReporter`
(conflicts as events), `receipt_metadata` and `table_metadata`.

Definitions load without PyIceberg and PyArrow: what a run, a tick or a check does imports what it does it with.
"""

from typing import TYPE_CHECKING

from seriatim.conflict_events import ConflictEvent as ConflictEvent
from seriatim.dagster.alert_sensor import alert_sensor as alert_sensor
from seriatim.dagster.alerts import Alert as Alert
from seriatim.dagster.audit_checks import AuditConfig as AuditConfig
from seriatim.dagster.audit_checks import audit_checks as audit_checks
from seriatim.dagster.catalog import ForceConfig as ForceConfig
from seriatim.dagster.catalog import IcebergCatalog as IcebergCatalog
from seriatim.dagster.catalog import open_catalog as open_catalog
from seriatim.dagster.conflict_log import read_conflicts as read_conflicts
from seriatim.dagster.conflict_sensor import conflict_sensor as conflict_sensor
from seriatim.dagster.conflict_sensor import record_conflicts as record_conflicts
from seriatim.dagster.conflicts import ConflictReporter as ConflictReporter
from seriatim.dagster.conflicts import conflict_from_observation as conflict_from_observation
from seriatim.dagster.conflicts import conflict_observation as conflict_observation
from seriatim.dagster.errors import AlertNotSentError as AlertNotSentError
from seriatim.dagster.errors import CatalogBusyError as CatalogBusyError
from seriatim.dagster.errors import CatalogOpenError as CatalogOpenError
from seriatim.dagster.errors import ConflictEventError as ConflictEventError
from seriatim.dagster.errors import OperationIdError as OperationIdError
from seriatim.dagster.errors import OutputError as OutputError
from seriatim.dagster.failure_sensor import failure_sensor as failure_sensor
from seriatim.dagster.freshness import freshness_check as freshness_check
from seriatim.dagster.mirror_check import mirror_lag_check as mirror_lag_check
from seriatim.dagster.missed_ticks import missed_ticks_sensor as missed_ticks_sensor
from seriatim.dagster.notifiers import LogNotifier as LogNotifier
from seriatim.dagster.notifiers import Notifier as Notifier
from seriatim.dagster.notifiers import WebhookNotifier as WebhookNotifier
from seriatim.dagster.operation_ids import Launch as Launch
from seriatim.dagster.operation_ids import Operations as Operations
from seriatim.dagster.operation_ids import Tick as Tick
from seriatim.dagster.operation_ids import operation_ids as operation_ids
from seriatim.dagster.operation_ids import operations as operations
from seriatim.dagster.operation_ids import tick_tags as tick_tags
from seriatim.dagster.receipts import operation_metadata as operation_metadata
from seriatim.dagster.receipts import outcome_sentence as outcome_sentence
from seriatim.dagster.receipts import receipt_metadata as receipt_metadata
from seriatim.dagster.skip_if_running import skip_if_running as skip_if_running
from seriatim.dagster.table_metadata import table_metadata as table_metadata
from seriatim.dagster.upkeep import UpkeepConfig as UpkeepConfig
from seriatim.dagster.upkeep import upkeep_assets as upkeep_assets
from seriatim.lazy import exports

if TYPE_CHECKING:
    from seriatim.dagster.conflict_table import ensure_conflict_table as ensure_conflict_table
    from seriatim.dagster.first_use import ensure_namespace as ensure_namespace
    from seriatim.dagster.first_use import ensure_table as ensure_table
    from seriatim.dagster.io_manager import IcebergIOManager as IcebergIOManager
    from seriatim.dagster.lineage import lineage_markdown as lineage_markdown
else:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "IcebergIOManager": "io_manager",
            "ensure_conflict_table": "conflict_table",
            "ensure_namespace": "first_use",
            "ensure_table": "first_use",
            "lineage_markdown": "lineage",
        },
    )
