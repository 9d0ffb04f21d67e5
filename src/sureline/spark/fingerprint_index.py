"""The positions of 64-bit fingerprints in an array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Fingerprints = NDArray[np.uint64]


class FingerprintIndex:
    """Finds the positions of fingerprints in an array.

    Parameters
    ----------
    known : uint64 array
        Distinct fingerprints, in any order.

    Examples
    --------
    >>> import numpy as np
    >>> from sureline.spark.fingerprint_index import FingerprintIndex
    >>> FingerprintIndex(np.array([7, 3], np.uint64)).find(np.array([3, 5, 7], np.uint64)).tolist()
    [1, -1, 0]
    """

    def __init__(self, known: Fingerprints) -> None:
        self._order = np.argsort(known)
        self._sorted = known[self._order]

    def find(self, wanted: Fingerprints) -> NDArray[np.intp]:
        """The position of each fingerprint, or -1 if it is unknown.

        Parameters
        ----------
        wanted : uint64 array
            The fingerprints to look up.
        """
        if not self._sorted.size:
            return np.full(wanted.size, -1)
        place = np.minimum(np.searchsorted(self._sorted, wanted), self._sorted.size - 1)
        return np.where(self._sorted[place] == wanted, self._order[place], -1)
