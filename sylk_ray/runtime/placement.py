"""Which cell an agent lives in: decisions without Ray, for the density ``packed``."""

from __future__ import annotations

from collections.abc import Mapping

from sylk_ray.errors import SylkError


class PlacementFailed(SylkError):
    """The cluster had no room for a cell in time."""

    code = "placement_failed"


class Packing:
    """Keeps each session together on a home cell while there is room, and spreads groups by load beyond.

    A group is the agents of a session that share a name: a pipeline with its Engineer, Inspector and Tester is
    never torn apart. Load is the number of groups on a cell. ``slack`` is how many more groups than the emptiest
    cell a home may hold before the next group goes elsewhere.
    """

    def __init__(self, *, most_cells: int, slack: int) -> None:
        self._most = most_cells
        self._slack = slack
        self._load: dict[str, int] = {}
        self._node: dict[str, str] = {}
        self._home: dict[str, str] = {}
        self._groups: dict[tuple[str, str], str] = {}

    @property
    def cells(self) -> list[str]:
        """The cells in use."""
        return list(self._load)

    def wants_cell(self) -> bool:
        """Whether the next session would be better off with a new cell than with the emptiest one."""
        return len(self._load) < self._most and all(self._load.values())

    def allow(self, most_cells: int) -> None:
        """Nodes came or went: so many cells there may be from now on."""
        self._most = most_cells

    def add_cell(self, cell: str, node: str = "") -> None:
        """A cell is ready to hold agents."""
        self._load.setdefault(cell, 0)
        self._node[cell] = node

    def restore(self, session: str, home: str, groups: Mapping[str, str]) -> None:
        """Take up a session as it is: its home, and the cells of its groups by their names; what is not on a known
        cell is left out."""
        if home in self._load:
            self._home[session] = home
            self._load[home] += 1
        for name, cell in groups.items():
            if cell not in self._load:
                continue
            self._groups[(session, name)] = cell
            self._load[cell] += 1

    def lose_cell(self, cell: str) -> list[str]:
        """A cell died; returns the sessions that had anything on it. Those that had their home there have none now."""
        self._load.pop(cell, None)
        self._node.pop(cell, None)
        hit = {session for (session, _), where in self._groups.items() if where == cell}
        homeless = {session for session, home in self._home.items() if home == cell}
        for key in [key for key, where in self._groups.items() if where == cell]:
            del self._groups[key]
        for session in homeless:
            del self._home[session]
        return sorted(hit | homeless)

    def open_session(self, session: str) -> str:
        """The home of a session: the emptiest cell, or of its own node when it has groups already. Needs a cell to
        have been added."""
        home = self._home.get(session)
        if home is None:
            held = [cell for (owner, _), cell in self._groups.items() if owner == session]
            home = self._home[session] = self._emptiest(self._node[held[0]] if held else None)
            self._load[home] += 1
        return home

    def place(self, session: str, name: str) -> str:
        """The cell of a group; the same answer until it is released."""
        home = self._home[session]
        if name == "main":
            return home
        key = (session, name)
        cell = self._groups.get(key)
        if cell is None:
            emptiest = self._emptiest(self._node[home])
            cell = emptiest if self._load[home] - self._load[emptiest] >= self._slack else home
            self._groups[key] = cell
            self._load[cell] += 1
        return cell

    def release(self, session: str, name: str) -> None:
        """A group is done with."""
        cell = self._groups.pop((session, name), None)
        if cell in self._load:
            self._load[cell] -= 1

    def cells_of(self, session: str) -> list[str]:
        """Every cell that holds something of a session, its home first."""
        home = self._home.get(session)
        held = {where for (owner, _), where in self._groups.items() if owner == session}
        return ([home] if home else []) + sorted(held - {home})

    def close_session(self, session: str) -> list[str]:
        """Release a session; returns the cells that held something of it."""
        cells = self.cells_of(session)
        home = self._home.pop(session, None)
        if home in self._load:
            self._load[home] -= 1
        for key in [key for key in self._groups if key[0] == session]:
            cell = self._groups.pop(key)
            if cell in self._load:
                self._load[cell] -= 1
        return cells

    def _emptiest(self, node: str | None = None) -> str:
        """Of one node, for a session's journal is a file that the cells of one node write together."""
        cells = [cell for cell in self._load if node is None or self._node[cell] == node]
        return min(cells, key=self._load.__getitem__)
