"""Models for tests: a server that speaks both protocols over real HTTP, and fails in all the ways that servers do."""

from tests.models.faults import Complaint, Cut, Garbage, Page, SlowFirst, Stall, Status, Whole
from tests.models.roles import RoleScript, call, calls
from tests.models.server import ModelServer

__all__ = [
    "Complaint",
    "Cut",
    "Garbage",
    "ModelServer",
    "Page",
    "RoleScript",
    "SlowFirst",
    "Stall",
    "Status",
    "Whole",
    "call",
    "calls",
]
