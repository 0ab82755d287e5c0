"""What agents say to each other: addresses, typed messages, events and the form they take on a wire.

A message is a frozen msgspec struct. ``Message`` is told and wants no answer; ``Request[Reply]`` is asked and
names the type of its answer. Inside a cell a message travels as the object it is; between cells an ``Envelope``
carries its msgpack form. Errors cross as their code, and arrive as the same class.
"""

from sylk_ray.messaging.address import SHARED, Address
from sylk_ray.messaging.delivery import (
    CellLost,
    DeadlinePassed,
    DeliveryError,
    HandlerFailed,
    MailboxFull,
    NoHandler,
    NotAllowed,
    NotDecodable,
    NotEncodable,
    SessionClosed,
    UnknownAddress,
)
from sylk_ray.messaging.events import Event
from sylk_ray.messaging.flow import Flow, said_by
from sylk_ray.messaging.message import Message, Request
from sylk_ray.messaging.trace import begin_trace, current_trace, new_trace

__all__ = [
    "SHARED",
    "Address",
    "CellLost",
    "DeadlinePassed",
    "DeliveryError",
    "Event",
    "Flow",
    "HandlerFailed",
    "MailboxFull",
    "Message",
    "NoHandler",
    "NotAllowed",
    "NotDecodable",
    "NotEncodable",
    "Request",
    "SessionClosed",
    "UnknownAddress",
    "begin_trace",
    "current_trace",
    "new_trace",
    "said_by",
]
