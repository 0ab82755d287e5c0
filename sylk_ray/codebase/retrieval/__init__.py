"""Finding code: by words and by meaning together, then by what a person who searches code means.

::

    Retriever(base).search(Search(query="where are cookies kept", root=root))     # SearchAnswer

``question`` reads the query, ``candidates`` asks the knowledge base for chunks, ``scoring`` puts files in order (a pure
function), and ``snippets`` shows what stands there. The weights were chosen on questions over 46 repositories;
they lie on a plateau, so that no single one matters much (docs/performance.md).
"""

from sylk_ray.codebase.retrieval.retriever import Retriever

__all__ = ["Retriever"]
