"""What is known, of the code, of what was done and of what is written elsewhere: nodes, edges, vectors, and a gate.

SQLite holds the nodes and edges of all domains, with where they come from and what contradicts them; Qdrant holds
their vectors, a collection a domain; rustworkx walks the graph; XOR filters and Roaring bitmaps answer "nothing" before
any of them is asked::

    with KnowledgeBase.open(home / "knowledge", embedder=embedder) as known:
        known.insert([Node(id="a", domain=Domain.CODE, type=NodeType.FUNCTION, scope=root, content="def parse…")])
        known.connect([Edge(source="a", target="b", type=EdgeType.CALLS)])
        known.search("where is the input parsed", scope=root, k=10)

A write is one SQLite transaction that also notes in an outbox what the vectors must become; the outbox is carried out
after it, and again on opening, so the two never disagree for longer than a crash lasts. Nothing here knows Ray or any
agent: who owns a knowledge base, and how others reach it, is said elsewhere.
"""
