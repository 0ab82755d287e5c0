"""The file of the static model: vectors, weights and words in one, mapped and not read.

The format is safetensors': eight bytes that say how long the header is, the header in JSON with each array's type,
shape and place, and the arrays.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.embedder import EmbedderUnavailable
from sylk_ray.knowledge.embedding.places import PLACES

SHIPPED = Path(__file__).with_name("sylk-code.safetensors")
DIMENSIONS = 256
LARGEST_WEIGHT, LARGEST_PLACE = 1 << 20, 1 << 8
"""What a word counts at most by what it says, and by its place."""
USUAL_UNIT = 16
"""Into how many parts 1 is cut by which it is told how rare words are."""
TOP = 255
"""What a unit of the layer says at most."""
MOST_UNITS, MOST_SHIFT, LARGEST_GAIN, LARGEST_BIAS = 512, 31, 1 << 16, 1 << 23
"""For which all that the layer adds up is whole and below 2^24: units times TOP times 127, to begin with."""
_TYPES = {"I8": np.dtype("<i1"), "I32": np.dtype("<i4"), "U8": np.dtype("<u1")}


class ModelFile(NamedTuple):
    """What a model's file holds."""

    vectors: npt.NDArray[np.int8]
    """[words, dimensions], each row in units of its own, which its weights make up for."""
    of_questions: npt.NDArray[np.int64]
    """[words]: what a word counts in a question."""
    of_documents: npt.NDArray[np.int64]
    """[words]: what it counts in a document."""
    usual: npt.NDArray[np.uint8]
    """[words]: how rare it is among definitions of all kinds of projects, BM25's inverse document frequency in units of
    1 / USUAL_UNIT."""
    places_asked: npt.NDArray[np.int64]
    """[PLACES]: what a question's word counts by where it first stands."""
    places: npt.NDArray[np.int64]
    """[PLACES]: what a document's word counts by where it first stands."""
    inner: npt.NDArray[np.int8]
    """[units, dimensions]: what each unit of the layer looks for."""
    bias: npt.NDArray[np.int32]
    """[units]: from where on it says something."""
    outer: npt.NDArray[np.int8]
    """[dimensions, units]: and what it says."""
    scales: npt.NDArray[np.int32]
    """By which power of two a unit's sum is divided, and what the vector itself is multiplied with beside the units."""
    words: tuple[str, ...]
    """One for each row, the most frequent first; in the file in UTF-8, with line feeds between them."""


def open_model(path: Path | None = None) -> ModelFile:
    """The shipped model, or another one. Raises EmbedderUnavailable."""
    path = path or SHIPPED
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start = 8 + int.from_bytes(mapped[:8], "little")
        header: dict[str, Any] = json.loads(mapped[8:start])

        def array(name: str) -> npt.NDArray[Any]:
            return _array(mapped, start, header[name])

        model = ModelFile(
            vectors=array("vectors"),
            of_questions=array("questions").astype(np.int64),
            of_documents=array("documents").astype(np.int64),
            usual=array("usual"),
            places_asked=array("places_asked").astype(np.int64),
            places=array("places").astype(np.int64),
            inner=array("inner"),
            bias=array("bias"),
            outer=array("outer"),
            scales=array("scales"),
            words=tuple(array("words").tobytes().decode("utf-8").split("\n")),
        )
        _check(model)
        return model
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise EmbedderUnavailable(
            f"the built-in embedder's model {path} cannot be read: {error}", hint="Install sylk_ray again."
        ) from error


def _check(model: ModelFile) -> None:
    """Raises ValueError where its parts do not fit, or its numbers lead out of what float32 is exact for."""
    words, dimensions = model.vectors.shape
    (units,) = model.bias.shape
    shapes = {
        "questions": (model.of_questions, (words,)),
        "documents": (model.of_documents, (words,)),
        "usual": (model.usual, (words,)),
        "places_asked": (model.places_asked, (PLACES,)),
        "places": (model.places, (PLACES,)),
        "inner": (model.inner, (units, dimensions)),
        "outer": (model.outer, (dimensions, units)),
        "scales": (model.scales, (2,)),
    }
    for name, (array, wanted) in shapes.items():
        if array.shape != wanted:
            raise ValueError(f"{name} has the shape {array.shape}, not {wanted}")
    small = {"vectors": model.vectors, "inner": model.inner, "outer": model.outer}
    for name, array in small.items():
        if array.dtype != np.int8:
            raise ValueError(f"{name} is of {array.dtype}, not of int8")
    if len(model.words) != words:
        raise ValueError(f"there are {len(model.words)} words for {words} vectors")
    for name, array, largest in (
        ("questions", model.of_questions, LARGEST_WEIGHT),
        ("documents", model.of_documents, LARGEST_WEIGHT),
        ("places_asked", model.places_asked, LARGEST_PLACE),
        ("places", model.places, LARGEST_PLACE),
    ):
        if array.min(initial=1) < 1 or array.max(initial=1) > largest:
            raise ValueError(f"{name} are not all from 1 to {largest:,}")
    shift, gain = model.scales.tolist()
    if units > MOST_UNITS or not 0 <= shift <= MOST_SHIFT or not 1 <= gain <= LARGEST_GAIN:
        raise ValueError(f"a layer of {units} units with the scales {shift} and {gain} is not exact")
    if np.abs(model.bias.astype(np.int64)).max(initial=0) > LARGEST_BIAS:
        raise ValueError("a layer with such a bias is not exact")


def name_of(file: bytes, dimensions: int = DIMENSIONS) -> str:
    """What an embedder with such a file is called."""
    return f"sylk-code-{dimensions}/{hashlib.sha256(file).hexdigest()[:12]}"


def packed(arrays: Mapping[str, npt.NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """Arrays as a file, its arrays aligned to 64 bytes."""
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    codes = {kind: code for code, kind in _TYPES.items()}
    body = bytearray()
    for name, array in arrays.items():
        body += bytes(-len(body) % 64)
        raw = np.ascontiguousarray(array).tobytes()
        offsets = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": codes[array.dtype], "shape": list(array.shape), "data_offsets": offsets}
        body += raw
    text = json.dumps(header, sort_keys=True).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return len(text).to_bytes(8, "little") + text + bytes(body)


def _array(mapped: mmap.mmap, start: int, entry: dict[str, Any]) -> npt.NDArray[Any]:
    kind = _TYPES[entry["dtype"]]
    first, last = entry["data_offsets"]
    return np.frombuffer(mapped, kind, (last - first) // kind.itemsize, start + first).reshape(entry["shape"])
