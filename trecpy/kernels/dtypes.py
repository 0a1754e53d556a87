"""The dtypes of every array: what kernels take is what the rest of the package passes around."""

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Int32s = NDArray[np.int32]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Reals = NDArray[np.float64]
