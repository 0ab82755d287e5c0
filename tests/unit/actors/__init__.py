import os

SESSION = f"s{os.getpid()}"
"""Of this run alone: what tools have left running is found, and ended, by the session's id."""
