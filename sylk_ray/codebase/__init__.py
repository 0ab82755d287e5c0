"""A repository as knowledge: which of its files count, what they define and use, and finding it again.

Reading is apart from storing. ``selection`` says which files count and why not; ``reading`` turns one into an
``Outline`` of symbols, imports, references and parts, the same for every language; ``resolution`` joins outlines by
edges, each with how sure it is; ``indexing`` keeps a knowledge base in step with the files; ``retrieval`` finds.
"""
