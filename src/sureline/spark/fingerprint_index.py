"""Where fingerprints lie among others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]


class Finder:
    """Finds fingerprints among others.

    Parameters
    ----------
    known : uint64 array
        Distinct fingerprints, in any order.

    Examples
    --------
    >>> import numpy as np
    >>> from sureline.spark.fingerprint_index import Finder
    >>> Finder(np.array([7, 3], np.uint64)).find(np.array([3, 5, 7], np.uint64)).tolist()
    [1, -1, 0]
    """

    def __init__(self, known: Keys) -> None:
        self._order = np.argsort(known)
        self._sorted = known[self._order]

    def find(self, wanted: Keys) -> NDArray[Any]:
        """For each of the wanted fingerprints its place among those known, or -1.

        Parameters
        ----------
        wanted : uint64 array
            Fingerprints to look for.
        """
        if not self._sorted.size:
            return np.full(wanted.size, -1)
        place = np.minimum(np.searchsorted(self._sorted, wanted), self._sorted.size - 1)
        return np.where(self._sorted[place] == wanted, self._order[place], -1)
