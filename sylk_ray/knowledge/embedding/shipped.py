"""The shipped model's name, as ``name_of`` says: nobody has to read all of its file for it.

``scripts/train-embedder`` writes it with the file.
"""

NAME = "sylk-code-256/6dddac2dfdbf"
