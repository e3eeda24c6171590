"""Columns of Arrow as codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.kernel import Coded
from discreet.kernel.arrays import Ints


def coded(column: Any) -> Coded:
    """A chunked Arrow column as codes into its distinct values."""
    import pyarrow as arrow

    whole = column.combine_chunks() if isinstance(column, arrow.ChunkedArray) else column
    whole = arrow.concat_arrays(whole) if isinstance(whole, list) else whole
    if arrow.types.is_nested(whole.type):
        return Coded.of(whole.to_pylist())
    encoded = whole if arrow.types.is_dictionary(whole.type) else whole.dictionary_encode(null_encoding="encode")
    values = [*encoded.dictionary.to_pylist(), None]
    codes = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return Coded.merged(values, codes.astype(np.int64))


def whole_numbers(column: Any) -> Ints:
    """A column of counts; a missing one is nobody.

    >>> import pyarrow
    >>> whole_numbers(pyarrow.chunked_array([[3, None], [1]])).tolist()
    [3, 0, 1]
    """
    import pyarrow as arrow

    return np.asarray(column.cast(arrow.int64()).fill_null(0).to_numpy(), dtype=np.int64)
