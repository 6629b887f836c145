"""What the command exits with.

No crash, and no error of the shell's, ends with the code that says "not applied": whoever does an operation again
because it has not been applied must have been told so.
"""

from __future__ import annotations

from typing import Final

ERROR: Final = 1  # The message says what, and what to do.
CANNOT_TELL: Final = 3  # Also what cannot be judged. 2 is a wrong use of the command, as everywhere.
NOT_APPLIED: Final = 4
TO_BE_REPAIRED: Final = 5
ANOMALY: Final = 6
INTERRUPTED: Final = 130

EXIT_CODES: Final = """\
\b
Exit codes:
  0    done; of lookup: the operation has been applied, the version mirrored;
       of audit: nothing is wrong; of mirror --watch: it was asked to end (SIGTERM)
  1    an error, which the message explains
  2    wrong use of the command
  3    lookup: it cannot be told whether the operation has been applied, or the
       snapshot of the version is gone;
       audit: nothing wrong was found, and something cannot be judged
  4    lookup: the operation has not been applied, the version not been mirrored
  5    repair, dry run: there is something to repair
  6    audit: there are anomalies
  130  interrupted (Ctrl-C)
"""
