"""What a cell's log lines say besides their message: which agent speaks, and for which request."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from sylk_ray.messaging import Address, current_trace

SHOWN = 8
"""Digits of a trace id that a line shows: enough to find it by, and to tell it from the others of a day."""

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(trace)s%(message)s"


class AgentLog(logging.LoggerAdapter[logging.Logger]):
    """Begins each line with the agent's address and, while it works for a request, the trace:
    ``s-1/engineer/x [3f2a91bc] ...``."""

    def __init__(self, address: Address) -> None:
        super().__init__(logging.getLogger("sylk.agent"), {})
        self._address = address

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """See LoggerAdapter.process."""
        kwargs["extra"] = {**(kwargs.get("extra") or {}), "names_trace": True}
        return f"{self._address} {_shown_trace()}{msg}", kwargs


class TraceFilter(logging.Filter):
    """Gives every record a ``trace`` for a format to show; empty when there is none, or when the message names it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging.Filter."""
        record.trace = "" if getattr(record, "names_trace", False) else _shown_trace()
        return True


def configure() -> None:
    """Have this process write its log to standard error. Does nothing where logging is set up already."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    handler.addFilter(TraceFilter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _shown_trace() -> str:
    trace = current_trace()
    return f"[{trace[:SHOWN]}] " if trace else ""
