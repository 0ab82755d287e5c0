"""The one layer of the static model: it sees which words come together, which their sum alone cannot tell.

A residual layer with rectified units, ``x + outer @ max(0, inner @ x + bias)``, over the sum's unit vector. As up to
there, what is added up are whole numbers below 2^24, for which float32 is exact: by ``inner`` at most the length of the
vector times a row's (Cauchy and Schwarz), by ``outer`` at most 127 times what all units say. Root and division at the
end are rounded as IEEE 754 says, so they are the same everywhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sylk_ray.knowledge.embedding.embedder import Vectors
from sylk_ray.knowledge.embedding.model_file import TOP, ModelFile

ONE = 1 << 11
"""What a unit vector is multiplied with, to be whole numbers."""


class Layer:
    """Unit vectors to unit vectors."""

    def __init__(self, model: ModelFile) -> None:
        shift, gain = model.scales.tolist()
        self._step = np.float32(0.5**shift)
        self._gain = gain
        self._inner = model.inner.T.astype(np.float32)
        self._bias = model.bias.astype(np.float32)
        self._outer = model.outer.T.astype(np.float32)

    def __call__(self, rows: Vectors) -> Vectors:
        """[texts, dimensions] to the same; a row of zeros stays one."""
        whole = np.rint(rows * ONE)
        said = whole @ self._inner
        said += self._bias
        said *= self._step
        np.rint(said, out=said)
        np.clip(said, 0, TOP, out=said)
        told = (said @ self._outer).astype(np.int64) + whole.astype(np.int64) * self._gain
        told[~rows.any(axis=1)] = 0
        return to_unit(told)


def to_unit(whole: npt.NDArray[np.int64]) -> Vectors:
    """Rows of length 1, or of zeros."""
    lengths = np.sqrt(np.einsum("ij,ij->i", whole, whole).astype(np.float64))
    return (whole / np.where(lengths, lengths, 1)[:, None]).astype(np.float32)
