"""The runtime on Ray: cells as Ray actors, where they are placed, and how a cluster is brought up.

This is the only package that imports Ray. A ``Cell`` is a Ray actor around a ``Host``; the ``Fleet`` is the agent
that creates cells, keeps a warm pool of them and decides which cell an agent lives in; ``bring_up`` starts the
system's cells on a running Ray, and ``head`` starts and ends a local Ray of our own.
"""
