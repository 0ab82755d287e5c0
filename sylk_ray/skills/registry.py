"""The skills that there are, by name, domain and keyword."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from sylk_ray.dag import did_you_mean
from sylk_ray.skills.errors import DuplicateSkill, UnknownDomain, UnknownSkill
from sylk_ray.skills.keywords import KeywordIndex
from sylk_ray.skills.model import Skill

_LISTED = 10


class Registry:
    """Skills in the order in which they were added."""

    def __init__(self, skills: Iterable[Skill] = ()) -> None:
        self._skills: dict[str, Skill] = {}
        self._keywords = KeywordIndex()
        for each in skills:
            self.add(each)

    def add(self, skill: Skill) -> None:
        """Adding the same skill again changes nothing; raises DuplicateSkill for another one of the same name."""
        known = self._skills.setdefault(skill.name, skill)
        if known is not skill:
            raise DuplicateSkill(
                f"{skill.place}: the skill {skill.name!r} is already defined at {known.place}",
                hint="rename one of them: @skill(name=...)",
            )
        for keyword in {*skill.keywords, skill.name}:
            self._keywords.add(keyword, skill.name)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def __len__(self) -> int:
        return len(self._skills)

    def __contains__(self, name: str) -> bool:
        return name in self._skills

    def get(self, name: str) -> Skill:
        """Raises UnknownSkill with the nearest name."""
        if name not in self._skills:
            raise UnknownSkill(f"there is no skill {name!r}", hint=_hint(name, "skills", self._skills))
        return self._skills[name]

    def of_domain(self, domain: str) -> list[Skill]:
        """Raises UnknownDomain with the nearest name."""
        found = [each for each in self if each.domain == domain]
        if not found:
            hint = _hint(domain, "domains", {each.domain for each in self})
            raise UnknownDomain(f"no skill is of the domain {domain!r}", hint=hint)
        return found

    def mentioned(self, text: str) -> list[Skill]:
        """The skills of which a keyword or the name is in the text, those with the most keywords in it first."""
        return [self._skills[name] for name in self._keywords.matches(text)]


def _hint(name: str, what: str, known: Collection[str]) -> str:
    """The nearest name, else what there is."""
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return did_you_mean(name, known) or f"the {what}: {', '.join(sorted(known)[:_LISTED]) or 'none'}{more}"
