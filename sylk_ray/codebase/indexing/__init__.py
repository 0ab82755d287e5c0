"""A root's files as a scope of a knowledge base, kept in step::

    indexer = Indexer(base, root)
    indexer.sync(progress=show)            # all that has changed since the last time
    indexer.sync(only=["src/parser.py"])   # what a watcher has told

Files are stored some dozens at a time, and are searched from then on; edges follow when all were read.
"""

from sylk_ray.codebase.indexing.indexer import STATE, Indexer, Progress, Report
from sylk_ray.codebase.indexing.nodes import external_id, file_id, package_id, symbol_id

__all__ = ["STATE", "Indexer", "Progress", "Report", "external_id", "file_id", "package_id", "symbol_id"]
