"""Models for tests: a server that speaks both protocols over real HTTP, and fails in all the ways that servers do."""

from tests.models.faults import Cut, Garbage, SlowFirst, Stall, Status
from tests.models.roles import RoleScript, call, calls
from tests.models.server import ModelServer

__all__ = ["Cut", "Garbage", "ModelServer", "RoleScript", "SlowFirst", "Stall", "Status", "call", "calls"]
