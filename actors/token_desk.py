"""The part of an orchestrator by which a person is asked for more tokens when the session has used its own."""

from __future__ import annotations

import re

from actors.handoff_desk import HandoffDesk
from sylk_ray.errors import InputError
from sylk_ray.pipelines.asking import TokenGrant, TokensGiven, TokensWanted
from sylk_ray.runtime import Context, Refused, handler
from sylk_ray.sessions.messages import GUIDE, GrantTokens
from sylk_ray.sessions.records import Asking

_TOKENS = re.compile(r"(\d[\d_,]*)\s*([kKmM]?)")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


class TokenDesk(HandoffDesk):
    """One question for all who want more; what is at work waits for its answer."""

    @handler()
    async def tokens_wanted(self, message: TokensWanted, ctx: Context) -> None:
        """Ask, unless somebody is asked, or there was an answer that the sender does not know."""
        if not self.state.running or self.state.tokens_asked or len(self.state.tokens_given) > message.after:
            return
        text = f"{message.why} How many more may it use? (for example 50k; 0 for none)"
        self.state.tokens_asked = await self._ask_person("question", text, ctx, by="orchestrator")
        self._note_state()

    @handler(concurrent=True)
    async def tokens_given(self, message: TokensGiven, ctx: Context) -> TokenGrant | None:
        """The next answer, if there is one; none more when the job is over."""
        given = self.state.tokens_given
        if not self.state.running:
            return TokenGrant(message.after + 1, 0)
        return TokenGrant(message.after + 1, given[message.after]) if len(given) > message.after else None

    def _check_answer(self, asking: Asking, text: str) -> None:
        if asking.id == self.state.tokens_asked and text.strip() and tokens_of(text) is None:
            raise Refused(
                InputError(f"{text!r} is no number of tokens", hint="for example 50000, 50k or 1M; 0 for none")
            )

    async def _person_helped(self, asking: Asking, answer: str, who: str, ctx: Context) -> None:
        if asking.id != self.state.tokens_asked:
            await super()._person_helped(asking, answer, who, ctx)
            return
        more = tokens_of(answer) or 0
        if more:
            await ctx.tell(GUIDE, GrantTokens(ctx.address.session, more, asking.id))
        self.state.tokens_asked = ""
        self.state.tokens_given = [*self.state.tokens_given, more]
        self._note_state()


def tokens_of(text: str) -> int | None:
    """``50k`` is 50,000; None for what is no number."""
    found = _TOKENS.fullmatch(text.strip())
    return int(re.sub("[_,]", "", found[1])) * _FACTORS[found[2].lower()] if found else None
