"""Makes the model of the built-in embedder from nothing: ``scripts/train-embedder``, which docs/embedder.md tells of.

Nothing of it is needed at run time. What is done is kept in ``.cache/train-embedder``, under a name with a checksum of
what it was made of, and is not done again. In the order in which it runs:

1. ``packages`` what is learned from and what never is; ``fetching`` its archives.
2. ``harvest`` the files that people wrote, ``pairs``, ``crossing`` and ``glosses`` questions and answers in them,
   ``cleaning`` what they say, ``extract`` all of that by several processes.
3. ``vocabulary`` the words, ``tokens`` texts as words and how often, ``preparing`` all pairs in arrays, ``library``
   what Python's standard library says, which is none of them.
4. ``starting`` what two other models know of each word: ``minilm``, ``qwen``; ``installed`` has their files.
5. ``recipe`` every number, ``batching`` which pairs stand together, ``train`` the training, ``distilling`` a teacher
   beside it.
6. ``quantise`` the model's file, ``whole_files`` how a file comes to be there.
7. ``measuring`` the scores, ``comparing`` the tables beside BM25, MiniLM and ``wordllama``, ``file_questions`` the
   questions by hand, ``ablations`` what helps.
"""
