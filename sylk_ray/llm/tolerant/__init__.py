"""Reading what models write: JSON that is nearly right, calls in the midst of text, arguments that nearly fit.

Everything that was mended is told, and nothing is made up: what could mean two things, or is not there, is a problem,
and its text says to the model where it is, what was found and what is wanted.
"""

from sylk_ray.llm.tolerant.calls import FoundCall, FoundCalls, find_calls
from sylk_ray.llm.tolerant.fitting import Fitted, fit
from sylk_ray.llm.tolerant.json_text import Lenient, NotJson, read_json

__all__ = ["Fitted", "FoundCall", "FoundCalls", "Lenient", "NotJson", "find_calls", "fit", "read_json"]
