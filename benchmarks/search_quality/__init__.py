"""How often a search finds what was meant, beside other ways of searching: questions over real repositories.

``python -m benchmarks.search_quality [--repos DIR] [--only KIND]`` fetches the packages of ``packages.tsv`` into
``.cache/search_quality``, makes questions of what people wrote in them (the same every time), asks each searcher and
prints a table. ``questions.tsv`` has further ones, written by hand for repositories whose work trees lie in ``DIR``,
each in a folder of its last name and at the commit of ``revisions.tsv``::

    grep -v '^#' benchmarks/search_quality/revisions.tsv | while read -r repository commit; do
      tree="DIR/${repository##*/}" && git init -q "$tree" &&
        git -C "$tree" fetch -q --depth 1 "https://github.com/$repository" "$commit" &&
        git -C "$tree" checkout -q FETCH_HEAD
    done

Of the first ones some were developed with, and a good half kept until 2026-11-25 (``--only "hand, kept"``).
Repositories that came later have shown what was mended then (``--only "hand, seen"``) or not (``--only "hand,
fresh"``). Then all of these were in view when the weights of the ranking were chosen. The embedder was chosen without
``--only "hand, held"`` and ``--only "hand, test"``; of the ranking, once the latter had been asked, what only
declares and some kinds of files were weighed with all of them in view.

``python -m benchmarks.search_quality.recalling REPOSITORY ...`` asks for what was done before.
"""
