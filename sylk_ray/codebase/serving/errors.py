"""What can go wrong between those who ask a knowledge base and its owner."""

from __future__ import annotations

from sylk_ray.errors import SylkError


class CodebaseInUse(SylkError):
    """Another process owns the knowledge base, and answers nobody."""

    code = "codebase_in_use"


class DirectoryUnusable(SylkError):
    """The directory of the knowledge base cannot be made, or not be used."""

    code = "codebase_directory_unusable"


class CodebaseClosed(SylkError):
    """It was closed here, and is asked nevertheless."""

    code = "codebase_closed"


class OwnerLost(SylkError):
    """The owner ended before it answered."""

    code = "codebase_owner_lost"


class SocketUnavailable(SylkError):
    """The owner cannot listen in the directory."""

    code = "codebase_socket_unavailable"


class MalformedFrame(SylkError):
    """What came over the socket is no request, or no answer, or longer than any may be."""

    code = "codebase_malformed_frame"


class AnswerTooLarge(SylkError):
    """An answer that is longer than may be sent."""

    code = "codebase_answer_too_large"
