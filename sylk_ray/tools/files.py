"""The text of files, byte for byte except for what is meant to change."""

from __future__ import annotations

from sylk_ray.tools.errors import ActionFailed


def is_binary(data: bytes) -> bool:
    """As git sees it: a zero byte makes it binary."""
    return b"\0" in data


def text_of(data: bytes, name: str) -> str:
    """The text of a file, its line endings as they are; ActionFailed if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ActionFailed(
            f"{name} is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}",
            hint="Only UTF-8 files can be edited; convert the file first, or leave it out.",
        ) from None


def line_ending(text: str) -> str:
    r"""``\r\n`` if most lines end so, otherwise ``\n``."""
    windows = text.count("\r\n")
    return "\r\n" if windows * 2 > text.count("\n") else "\n"


def with_line_ending(text: str, ending: str) -> str:
    """The text with all its line endings of one kind."""
    return text.replace("\r\n", "\n").replace("\n", ending)
