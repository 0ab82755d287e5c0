"""What can go wrong with what is published."""

from __future__ import annotations

from sylk_ray.errors import SylkError


class SnapshotDamaged(SylkError):
    """These bytes are no snapshot of this version, or not all of one; without it everything is let through."""

    code = "gate_snapshot_damaged"


class FilterNotBuilt(SylkError):
    """The filter could not be built from these keys."""

    code = "gate_filter_not_built"
