"""Whether there can be anything to find, known before it is searched for.

The owner of a domain publishes a filter of all words in it, bitmaps of what its nodes are, and what came since; readers
in other processes follow under a lease::

    publisher = Publisher(all_keys)
    push = publisher.publish(document_keys("def parse(path)"), [(7, facets_of("/repo", {"type": "function"}))])

    gate = Gate({"code": publisher})             # in the owner; elsewhere a Reader
    gate.check("code", "kubernetes operator")    # No(reason, hint), or MAYBE

A No is certain: a write counts as done only when every reader that may still refuse something knows of it. What exactly
a No proves is said in ``keys``. Nothing here sends or stores anything: messages are carried, and snapshots kept, by
others.
"""

from sylk_ray.knowledge.gate.durations import LeaseTerms, lease_clock
from sylk_ray.knowledge.gate.errors import FilterNotBuilt, SnapshotDamaged
from sylk_ray.knowledge.gate.facets import Facet, Facets, facets_of
from sylk_ray.knowledge.gate.filters import KeyFilter
from sylk_ray.knowledge.gate.gate import MAYBE, Counts, Gate, Maybe, No, Verdict
from sylk_ray.knowledge.gate.keys import QueryKeys, document_keys, query_keys
from sylk_ray.knowledge.gate.leases import Reader
from sylk_ray.knowledge.gate.messages import Confirm, Grant, Push, Renew
from sylk_ray.knowledge.gate.publishing import Built, Publisher, Rebuilding
from sylk_ray.knowledge.gate.snapshots import Snapshot
from sylk_ray.knowledge.gate.views import Delta, Readable, View

__all__ = [
    "MAYBE",
    "Built",
    "Confirm",
    "Counts",
    "Delta",
    "Facet",
    "Facets",
    "FilterNotBuilt",
    "Gate",
    "Grant",
    "KeyFilter",
    "LeaseTerms",
    "Maybe",
    "No",
    "Publisher",
    "Push",
    "QueryKeys",
    "Readable",
    "Reader",
    "Rebuilding",
    "Renew",
    "Snapshot",
    "SnapshotDamaged",
    "Verdict",
    "View",
    "document_keys",
    "facets_of",
    "lease_clock",
    "query_keys",
]
