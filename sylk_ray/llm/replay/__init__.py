"""Answers of models, recorded and played again: for tests, and to look at what was said.

A model of the settings with ``record: FILE`` adds its exchanges to the file, without keys; one with ``provider:
replay`` and ``recording: FILE`` answers from it, by what was asked and not by when. A request that was not recorded is
an ``UnknownRequest``, which says how it differs from the nearest that was.
"""

from sylk_ray.llm.replay.identity import canonical, key_of
from sylk_ray.llm.replay.player import Replay
from sylk_ray.llm.replay.recorder import Recorder
from sylk_ray.llm.replay.recording import Exchange, Recording, RecordingUnreadable

__all__ = ["Exchange", "Recorder", "Recording", "RecordingUnreadable", "Replay", "canonical", "key_of"]
