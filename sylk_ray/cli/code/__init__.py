"""Commands that know a codebase: ``index``, ``search``, ``symbol``, ``usages``, ``deps``, ``graph``, ``knowledge``.

They need no runtime: whoever owns the state directory's knowledge answers, and if nobody does, the command itself.
"""
