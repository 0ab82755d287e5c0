"""Models for tests: a server that speaks both protocols over real HTTP, and fails in all the ways that servers do."""

from tests.models.faults import Cut, Garbage, SlowFirst, Stall, Status
from tests.models.server import ModelServer

__all__ = ["Cut", "Garbage", "ModelServer", "SlowFirst", "Stall", "Status"]
