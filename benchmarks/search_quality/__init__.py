"""How often a search finds what was meant, beside other ways of searching: questions over real repositories.

``python -m benchmarks.search_quality [--repos DIR] [--only KIND]`` fetches the packages of ``packages.tsv`` into
``.cache/search_quality``, makes questions of what people wrote in them (the same every time), asks each searcher and
prints a table. ``questions.tsv`` has further ones, written by hand for repositories whose work trees lie in ``DIR``. Of
the first ones some were developed with, and a good half kept until 2026-11-25 (``--only "hand, kept"``); repositories
that came later have shown what was mended then (``--only "hand, seen"``) or not (``--only "hand, fresh"``). Then all of
these were in view when the weights of the ranking were chosen. Nothing was chosen with ``--only "hand, held"``.

``python -m benchmarks.search_quality.recalling REPOSITORY ...`` asks for what was done before.
"""
