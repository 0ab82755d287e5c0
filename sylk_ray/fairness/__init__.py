"""Who gets the next free slot: sessions share a system by weight, and none of them starves.

Everything here decides and nothing here acts: there is no clock, no thread and no Ray. A ``FairShare`` is told what
was asked for, given back and reported, and at what time, and answers with decisions for its driver to carry out::

    fair = FairShare(Capacity({"pipelines": 200, "cpu": 4, "tokens:fast": 200_000}), now=0.0)
    fair.set_group("s-1", Group(weight=2, max_pipelines=4), now=0.0)
    build = Request("s-1/pipeline/build#1", "s-1", {"pipelines": 1}, at=1.0)
    for decision in fair.request(build, "cell-1", now=1.0):
        ...  # Granted("s-1/pipeline/build#1", "cell-1"), or nothing yet, or Refused with a reason
    fair.release(build.key, now=9.0)  # who waits for it is in what comes back

The order is weighted fair queueing over dominant-resource service (``service``), lanes with ageing within a session
(``session_queue``), and reservations for large requests (``reservations``); ``FairShare`` states how long a request
can wait. ``snapshot`` and ``place`` are for people to watch it with.
"""

from sylk_ray.fairness.decisions import Decision, Granted, Refused, Returned
from sylk_ray.fairness.fair_share import FairShare
from sylk_ray.fairness.holders import LEASE_S
from sylk_ray.fairness.model import (
    Capacity,
    Group,
    InvalidCapacity,
    InvalidGroup,
    InvalidRequest,
    Lane,
    Request,
)
from sylk_ray.fairness.session_queue import AGE_S
from sylk_ray.fairness.snapshot import (
    HISTOGRAM_BOUNDS_S,
    LeaseView,
    SessionView,
    Snapshot,
    Totals,
    WaitStatistics,
)
from sylk_ray.fairness.token_ledger import TokenLedger

__all__ = [
    "AGE_S",
    "HISTOGRAM_BOUNDS_S",
    "LEASE_S",
    "Capacity",
    "Decision",
    "FairShare",
    "Granted",
    "Group",
    "InvalidCapacity",
    "InvalidGroup",
    "InvalidRequest",
    "Lane",
    "LeaseView",
    "Refused",
    "Request",
    "Returned",
    "SessionView",
    "Snapshot",
    "TokenLedger",
    "Totals",
    "WaitStatistics",
]
