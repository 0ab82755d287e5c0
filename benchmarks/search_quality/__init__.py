"""How often a search finds what was meant, beside other ways of searching: questions over real repositories.

``python -m benchmarks.search_quality [--repos DIR] [--only KIND]`` fetches the packages of ``packages.tsv`` into
``.cache/search_quality``, makes questions of what people wrote in them (the same every time), asks each searcher and
prints a table. ``questions.tsv`` has further ones, written by hand for repositories whose work trees lie in ``DIR``. Of
the first ones some are to develop with, and a good half was kept for the end (``--only "hand, kept"``). Of repositories
that came later some have shown what was mended then (``--only "hand, seen"``); with the others nothing was developed
(``--only "hand, fresh"``).

``python -m benchmarks.search_quality.recalling REPOSITORY ...`` asks for what was done before.
"""
