"""Seriatim for Dagster projects: resource, operation ids, receipts as metadata, conflicts as events and as a table.

@dg.asset(partitions_def=daily)
def deposits(context: dg.AssetExecutionContext, catalog: IcebergCatalog) -> dg.MaterializeResult:
    launched = operations(Launch.of(context))
    receipt = apply(
        catalog.load(),
        ("bank", "account"),
        add_deposits,
        operation_ids=launched.plain_ids,
        partitions=launched.partitions,
        issued_at_ms=launched.issued_at_ms,
        observer=ConflictReporter(context, dg.AssetKey("account")),
    )
    return dg.MaterializeResult(metadata=receipt_metadata(receipt))
"""

from seriatim.conflict_events import ConflictEvent as ConflictEvent
from seriatim.dagster.audit_check import AuditConfig as AuditConfig
from seriatim.dagster.audit_check import audit_check as audit_check
from seriatim.dagster.audit_check import audit_result as audit_result
from seriatim.dagster.catalog import IcebergCatalog as IcebergCatalog
from seriatim.dagster.catalog import open_catalog as open_catalog
from seriatim.dagster.conflict_sensor import conflict_sensor as conflict_sensor
from seriatim.dagster.conflict_sensor import read_conflicts as read_conflicts
from seriatim.dagster.conflict_sensor import record_conflicts as record_conflicts
from seriatim.dagster.conflict_table import ensure_conflict_table as ensure_conflict_table
from seriatim.dagster.conflicts import ConflictReporter as ConflictReporter
from seriatim.dagster.conflicts import conflict_from_observation as conflict_from_observation
from seriatim.dagster.conflicts import conflict_observation as conflict_observation
from seriatim.dagster.errors import CatalogBusyError as CatalogBusyError
from seriatim.dagster.errors import CatalogOpenError as CatalogOpenError
from seriatim.dagster.errors import ConflictEventError as ConflictEventError
from seriatim.dagster.errors import OperationIdError as OperationIdError
from seriatim.dagster.first_use import ensure_namespace as ensure_namespace
from seriatim.dagster.first_use import ensure_table as ensure_table
from seriatim.dagster.operation_ids import Launch as Launch
from seriatim.dagster.operation_ids import Operations as Operations
from seriatim.dagster.operation_ids import Tick as Tick
from seriatim.dagster.operation_ids import operation_ids as operation_ids
from seriatim.dagster.operation_ids import operations as operations
from seriatim.dagster.receipts import operation_metadata as operation_metadata
from seriatim.dagster.receipts import outcome_sentence as outcome_sentence
from seriatim.dagster.receipts import receipt_metadata as receipt_metadata
from seriatim.dagster.upkeep import UpkeepConfig as UpkeepConfig
from seriatim.dagster.upkeep import upkeep_asset as upkeep_asset
