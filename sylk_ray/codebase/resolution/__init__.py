"""Outlines joined by links: what calls, imports, derives from and holds what, each with how sure it is.

Static reading goes as far as it goes: a link says what most likely is meant, and its confidence how it was found. A
name in the same scope is nearly sure, one that is the only of its kind in the repository is a guess, and where there
are more than a few there is no link at all::

    resolver = Resolver()
    for path in resolver.update(outlines, manifests={"go.mod": text}):
        store(path, resolver.links_of(path))
    for path in resolver.update([changed], removed=["old.py"]):     # only those whose links may be others now
        store(path, resolver.links_of(path))
"""

from sylk_ray.codebase.resolution.links import Link
from sylk_ray.codebase.resolution.manifests import NAMES as MANIFESTS
from sylk_ray.codebase.resolution.resolver import Resolver

__all__ = ["MANIFESTS", "Link", "Resolver"]
