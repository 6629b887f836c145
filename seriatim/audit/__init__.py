"""THE JUDGE: says from a table alone whether updates were lost, with a witness for each anomaly.

What is exported here is imported when it is asked for: to declare an invariant needs no PyIceberg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seriatim.lazy import exports

if TYPE_CHECKING:
    from seriatim.audit.iceberg import audit, past_of
    from seriatim.audit.invariants import Bounds, ConstantSum, Invariant, SumsAsRecorded, UniqueKey
    from seriatim.audit.judging import judge
    from seriatim.audit.limits import Limits
    from seriatim.audit.verdict import Anomaly, JudgedCommit, Kind, Status, Unjudged, Verdict
else:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "Anomaly": "verdict",
            "Bounds": "invariants",
            "ConstantSum": "invariants",
            "Invariant": "invariants",
            "JudgedCommit": "verdict",
            "Kind": "verdict",
            "Limits": "limits",
            "Status": "verdict",
            "SumsAsRecorded": "invariants",
            "UniqueKey": "invariants",
            "Unjudged": "verdict",
            "Verdict": "verdict",
            "audit": "iceberg",
            "judge": "judging",
            "past_of": "iceberg",
        },
    )

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
