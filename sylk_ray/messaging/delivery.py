"""Why a message was not delivered or a request not answered. The sender gets one of these, always."""

from __future__ import annotations

from sylk_ray.errors import SylkError


class DeliveryError(SylkError):
    """A message did not do what its sender wanted."""

    code = "delivery"


class UnknownAddress(DeliveryError):
    """No such session, or no such role."""

    code = "unknown_address"


class MailboxFull(DeliveryError):
    """The receiver stayed full until the sender's deadline."""

    code = "mailbox_full"


class DeadlinePassed(DeliveryError):
    """No answer came in time. The work may still have been done."""

    code = "deadline_passed"


class HandlerFailed(DeliveryError):
    """The receiver's handler raised; the message holds its traceback."""

    code = "handler_failed"


class NoHandler(DeliveryError):
    """The receiver's role does not understand that kind of message."""

    code = "no_handler"


class NotAllowed(DeliveryError):
    """An agent of one session addressed another session's agent, or said what is not for its role to say."""

    code = "not_allowed"


class NotEncodable(DeliveryError):
    """The message holds something that has no wire form."""

    code = "not_encodable"


class NotDecodable(DeliveryError):
    """What arrived is not a message of the kind that it says it is."""

    code = "not_decodable"


class SessionClosed(DeliveryError):
    """The session of the receiver, or of the sender, is over."""

    code = "session_closed"


class CellLost(DeliveryError):
    """The process that held the receiver died before it acknowledged."""

    code = "cell_lost"
