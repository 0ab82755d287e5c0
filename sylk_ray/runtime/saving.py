"""From an agent's state to what a journal keeps of it, and back."""

from __future__ import annotations

from typing import Any

import msgspec

from sylk_ray.runtime.agent import Agent
from sylk_ray.runtime.journal import SavedState

_encode = msgspec.msgpack.encode


class Saved:
    """What was committed last of one agent's state, and the entries of its keyed field as they were then."""

    __slots__ = ("_entries", "_known", "_parts")

    def __init__(self) -> None:
        self._known: SavedState | None = None
        self._entries: dict[str, Any] = {}
        self._parts: dict[str, bytes] = {}

    def changes(self, agent: Agent[Any]) -> SavedState | None:
        """What has to be written; None when nothing has changed."""
        state: Any = agent.state
        version, known = agent.state_version, self._known
        old = known.data if known is not None and known.version == version else None
        if not agent.keyed:
            data = _encode(state)
            return None if data == old else SavedState(version, data)
        entries: dict[str, Any] = getattr(state, agent.keyed)
        setattr(state, agent.keyed, {})
        try:
            data = _encode(state)
        finally:
            setattr(state, agent.keyed, entries)
        parts = {name: _encode(entry) for name, entry in entries.items() if self._entries.get(name) is not entry}
        parts.update((name, b"") for name in self._parts.keys() - entries.keys())
        return None if data == old and not parts else SavedState(version, data, parts)

    def note(self, agent: Agent[Any], written: SavedState) -> None:
        """It was committed."""
        self._known = written
        if agent.keyed:
            self._entries = dict(getattr(agent.state, agent.keyed))
            self._parts = {name: data for name, data in {**self._parts, **written.parts}.items() if data}

    def restore(self, agent: Agent[Any], found: SavedState | None) -> None:
        """Give an agent the state that was found in the journal, or a new one."""
        state_type = agent.state_type
        assert state_type is not None
        self._known, self._entries, self._parts = found, {}, dict(found.parts) if found is not None else {}
        if found is None:
            agent.state = state_type()
            return
        whole = dict(msgspec.msgpack.decode(found.data))
        if agent.keyed:
            whole[agent.keyed] = {name: msgspec.msgpack.decode(data) for name, data in found.parts.items()}
        if found.version != agent.state_version:
            agent.state = msgspec.convert(agent.upgrade(found.version, whole), state_type)
            return
        agent.state = msgspec.convert(whole, state_type)
        if agent.keyed:
            self._entries = dict(getattr(agent.state, agent.keyed))

    def again(self, agent: Agent[Any]) -> None:
        """Put an agent that was made anew back to what was committed last."""
        known = self._known
        self.restore(agent, None if known is None else SavedState(known.version, known.data, self._parts))
