"""How often a search finds what was meant, beside other ways of searching: questions over real repositories.

``python -m benchmarks.search_quality [--repos DIR] [--only KIND]`` fetches the packages of ``packages.tsv`` into
``.cache/search_quality``, makes questions of what people wrote in them (the same every time), asks each searcher and
prints a table. ``questions.tsv`` has further ones, written by hand for repositories whose work trees lie in ``DIR``:
of the first, some to develop with, and a good half kept to look at once, in the end (``--only "hand, kept"``); and of
repositories that came later, questions whose results nothing was developed with (``--only "hand, fresh"``).
"""
