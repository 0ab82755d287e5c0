"""Language models: so far, what a text costs them."""

from sylk_ray.llm.tokens import TokenizerMissing, count_tokens

__all__ = ["TokenizerMissing", "count_tokens"]
