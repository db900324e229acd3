"""Raster images as PNG data URLs."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["color_values", "encode_png"]

# Ten points of the colour map "viridis" (CC0): perceptually uniform, and safe for colour-blind readers.
_MAP = np.array(
    [
        (68, 1, 84),
        (72, 40, 120),
        (62, 74, 137),
        (49, 104, 142),
        (38, 130, 142),
        (31, 158, 137),
        (53, 183, 121),
        (109, 205, 89),
        (180, 222, 44),
        (253, 231, 37),
    ],
    dtype=np.float64,
)


def encode_png(pixels: NDArray[np.uint8]) -> str:
    """Encode a raster as a data URL.

    Parameters
    ----------
    pixels : ndarray of uint8 of shape (height, width, 4)
        Red, green, blue and opacity, from the upper left.

    Returns
    -------
    str
        For the ``href`` of an image.

    Examples
    --------
    >>> encode_png(np.zeros((2, 3, 4), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels, dtype=np.uint8))
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode("ascii")


def color_values(values: ArrayLike) -> NDArray[np.uint8]:
    """Map numbers to colours, the smallest dark and the largest light; values that are not finite are transparent.

    Parameters
    ----------
    values : array-like of shape (height, width)
        Numbers.

    Returns
    -------
    ndarray of uint8 of shape (height, width, 4)

    Examples
    --------
    >>> color_values([[0.0, 1.0]])[0, 1].tolist()
    [253, 231, 37, 255]
    """
    grid = np.asarray(values, dtype=np.float64)
    known = np.isfinite(grid)
    low, high = (float(grid[known].min()), float(grid[known].max())) if known.any() else (0.0, 1.0)
    share = np.where(known, (grid - low) / (high - low if high > low else 1.0), 0.0)
    positions = np.linspace(0.0, 1.0, len(_MAP))
    colors = [np.interp(share, positions, _MAP[:, k]) for k in range(3)]
    return np.stack([*colors, np.where(known, 255.0, 0.0)], axis=-1).round().astype(np.uint8)
