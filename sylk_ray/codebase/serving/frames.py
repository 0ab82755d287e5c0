"""Frames on a socket: four bytes of length, big-endian, then that many bytes of msgpack."""

from __future__ import annotations

import socket
import struct

import msgspec

from sylk_ray.codebase.requests import AnyAnswer, AnyRequest, Progressed
from sylk_ray.codebase.serving.errors import MalformedFrame
from sylk_ray.errors import SylkError, error_of

_LENGTH = struct.Struct(">I")
LONGEST_REQUEST = 4 << 20
"""Bytes: an Index of some ten thousand paths."""
LONGEST_ANSWER = 64 << 20
_PIECE = 1 << 20


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A SylkError on its way."""

    code: str
    message: str
    hint: str
    exit_code: int = 1

    @classmethod
    def of(cls, problem: SylkError) -> Failed:
        """An error, to be sent."""
        return cls(code=problem.code, message=problem.message, hint=problem.hint, exit_code=problem.exit_code)

    def error(self) -> SylkError:
        """It again; one whose module was never imported here still has its code."""
        error = error_of(self.code, self.message, self.hint)
        if error.code != self.code:
            vars(error).update(code=self.code, exit_code=self.exit_code)
        return error


AnyReply = AnyAnswer | Progressed | Failed

encode = msgspec.msgpack.Encoder().encode
_request = msgspec.msgpack.Decoder(AnyRequest)
_reply = msgspec.msgpack.Decoder(AnyReply)


def send(to: socket.socket, content: bytes) -> None:
    """Raises OSError."""
    to.sendall(_LENGTH.pack(len(content)) + content)


def receive(at: socket.socket, longest: int) -> bytes | None:
    """The next frame; None when the other side has ended between two. Raises MalformedFrame, OSError, and
    ConnectionError within one."""
    head = _exactly(at, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > longest:
        raise MalformedFrame(
            f"a frame of {length} bytes is longer than the {longest} that are allowed",
            hint="ask for less at once",
        )
    content = _exactly(at, length) if length else b""
    if content is None:
        raise ConnectionResetError("the connection ended within a frame")
    return content


def request_of(content: bytes) -> AnyRequest:
    """Raises MalformedFrame."""
    try:
        return _request.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise MalformedFrame(f"this is no request: {problem}", hint=_SAME_VERSION) from problem


def reply_of(content: bytes) -> AnyReply:
    """Raises MalformedFrame."""
    try:
        return _reply.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise MalformedFrame(f"this is no answer: {problem}", hint=_SAME_VERSION) from problem


def _exactly(at: socket.socket, count: int) -> bytes | None:
    """None when there is no byte at all."""
    read = bytearray()
    while len(read) < count:
        some = at.recv(min(count - len(read), _PIECE))
        if not some:
            if read:
                raise ConnectionResetError("the connection ended within a frame")
            return None
        read += some
    return bytes(read)


_SAME_VERSION = "both sides must be of the same version of sylk_ray: restart the one that has run for longer"
