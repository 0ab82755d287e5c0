"""What a FairShare says: decisions for its driver to pass on to the holders they name."""

from __future__ import annotations

import msgspec


class Granted(msgspec.Struct, frozen=True, tag="granted"):
    """The holder may go on with this key. Can be said again for the same key; the second time changes nothing."""

    key: str
    holder: str


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The request is gone: as things are it can never be met, or its session has spent its tokens."""

    key: str
    holder: str
    reason: str
    """For a person: what is missing now, and what there is at best."""
    over_budget: bool = False
    """Whether it is for the session's tokens: with a larger budget it could go on."""


class Returned(msgspec.Struct, frozen=True, tag="returned"):
    """The key is no longer this holder's, whether it held it or waited for it, and not by its own wish."""

    key: str
    holder: str
    reason: str


Decision = Granted | Refused | Returned
