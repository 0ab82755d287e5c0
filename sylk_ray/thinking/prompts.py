"""What models are told of their role: files beside this one, with sections and a version."""

from __future__ import annotations

import functools
from importlib import resources

import msgspec

from sylk_ray.errors import InputError

SECTIONS = ("role", "rules", "output")
"""In the order in which they are told."""


class Prompt(msgspec.Struct, frozen=True):
    """Of one role. ``version`` grows with every change of what it says."""

    role: str
    version: int
    sections: dict[str, str]

    @property
    def text(self) -> str:
        """As the model is told."""
        return self.told()

    def told(self, *, skills: str = "", context: str = "") -> str:
        """The same, with sections on what can be loaded and on how things stand before the one on the output."""
        parts = [self.sections["role"], f"# Rules\n{self.sections['rules']}"]
        parts += [f"# {title}\n{text.strip()}" for title, text in (("Skills", skills), ("Context", context)) if text]
        return "\n\n".join([*parts, f"# Output\n{self.sections['output']}"])


@functools.cache
def prompt(role: str) -> Prompt:
    """Of the file ``prompts/<role>.md``. Raises InputError for a role that has none, or one that lacks a section."""
    file = resources.files("sylk_ray.thinking") / "prompts" / f"{role}.md"
    if not file.is_file():
        raise InputError(f"there is no prompt for {role}")
    head, *rest = file.read_text("utf-8").split("\n## ")
    version = next((line.removeprefix("version:") for line in head.splitlines() if line.startswith("version:")), "")
    sections = {name.strip(): text.strip() for name, _, text in (each.partition("\n") for each in rest)}
    if not version.strip().isdigit() or set(sections) != set(SECTIONS) or not all(sections.values()):
        raise InputError(f"the prompt of {role} needs a version and the sections {', '.join(SECTIONS)}")
    return Prompt(role, int(version), sections)
