"""THE JUDGE: says from a table alone whether updates were lost, with a witness for each anomaly."""

from seriatim.audit.iceberg import audit, past_of
from seriatim.audit.invariants import Bounds, ConstantSum, Invariant, SumsAsRecorded, UniqueKey
from seriatim.audit.judging import judge
from seriatim.audit.limits import Limits
from seriatim.audit.verdict import Anomaly, JudgedCommit, Kind, Status, Unjudged, Verdict

__all__ = [
    "Anomaly",
    "Bounds",
    "ConstantSum",
    "Invariant",
    "JudgedCommit",
    "Kind",
    "Limits",
    "Status",
    "SumsAsRecorded",
    "UniqueKey",
    "Unjudged",
    "Verdict",
    "audit",
    "judge",
    "past_of",
]
