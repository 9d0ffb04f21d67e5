"""Full covariances on a device such as a GPU, through the array API.

The matrices stay on the device while a model learns. The steps of a block are made on the CPU,
from a small matrix that is copied for each block.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sureline.errors import InvalidParameter
from sureline.kernels.block_rows import SYMMETRIZE
from sureline.model.matrices import BlockRows, FirstMatrices, Floats

PANEL = 512  # rows of Σ that are changed at once
TAKEN = 2**27  # numbers that are copied from Σ at once, which take 1 GiB
ALIGNED = 64  # numbers


class Device(NamedTuple):
    """An array API namespace, and a device of its arrays."""

    xp: Any
    device: Any


def open_device(name: str) -> Device:
    """The device of that name, by CuPy or PyTorch; or a sentence on what is missing."""
    try:
        importlib.import_module("array_api_compat")
    except ImportError:
        raise InvalidParameter(
            f"device={name!r} needs the package array-api-compat: pip install 'sureline[gpu]'"
        ) from None
    missing = []
    for library in ("cupy", "torch"):
        try:
            xp = importlib.import_module(f"array_api_compat.{library}")
            found = (
                xp.cuda.runtime.getDeviceCount() if library == "cupy" else xp.cuda.device_count()
            )
            if found:
                return Device(xp, xp.cuda.Device() if library == "cupy" else xp.device(name))
        except ImportError:
            missing.append(library)
        except Exception:  # noqa: S110, CuPy has its own for a driver that is missing
            pass
    if len(missing) == 2:
        raise InvalidParameter(
            f"device={name!r} needs CuPy or PyTorch: pip install cupy-cuda12x, or torch"
        )
    raise InvalidParameter(f"device={name!r}: there is no GPU here that CUDA can use")


def to_host(array: Any) -> NDArray[Any]:
    """An array of any library as NumPy's."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "get") and hasattr(array, "device"):  # CuPy
        return np.asarray(array.get())
    if hasattr(array, "detach"):  # PyTorch
        array = array.detach().cpu()
    return np.asarray(array)


class DeviceMatrices:
    """The covariances of a state on a device; see `HostMatrices`.

    Each is filled up with zeros to a number of rows that GPUs multiply fast.
    """

    def __init__(self, device: Device, covariance: Floats | FirstMatrices) -> None:
        self.device, self._host = device, cast("Floats | None", None)
        self._values: tuple[NDArray[Any], Any] | None = None
        if isinstance(covariance, FirstMatrices):
            count, self.size = covariance.classes, covariance.size
            self.matrices = [self._first(covariance.variance) for _ in range(count)]
        else:
            self.size, self._host = covariance.shape[1], covariance
            self.matrices = [self._filled_up(matrix) for matrix in covariance]
        self._variances = cast("list[Floats | None]", [None] * len(self.matrices))

    @property
    def host(self) -> NDArray[np.float64]:
        """A copy on the host, up to date; a GPU's products may leave it asymmetric by rounding."""
        if self._host is None:
            self._host = np.empty((len(self.matrices), self.size, self.size))
            for out, matrix in zip(self._host, self.matrices, strict=True):
                out[:] = to_host(matrix[: self.size, : self.size])
                SYMMETRIZE.compiled("float64")(out)
        return self._host

    def _empty(self, rows: int | None = None) -> Any:
        """Zeros, as wide as a matrix and as high, or with so many rows."""
        xp, device = self.device
        width = self._width
        return xp.zeros((width if rows is None else rows, width), dtype=xp.float64, device=device)

    @property
    def _width(self) -> int:
        """The number of rows of each matrix, with those that fill it up."""
        return -(-self.size // ALIGNED) * ALIGNED

    def _first(self, variance: float) -> Any:
        """A matrix that begins with this variance, made in place."""
        xp, device = self.device
        matrix = self._empty()
        for start in range(0, self.size, PANEL):
            stop = min(start + PANEL, self.size)
            square = variance * xp.eye(stop - start, dtype=xp.float64, device=device)
            matrix[start:stop, start:stop] = square
        return matrix

    def _filled_up(self, array: Floats) -> Any:
        matrix = self._empty()
        matrix[: self.size, : self.size] = self._put(array)
        return matrix

    def _put(self, array: NDArray[Any]) -> Any:
        xp, device = self.device
        return xp.asarray(np.ascontiguousarray(array), device=device, copy=True)

    def _put_values(self, rows: BlockRows) -> Any:
        """The values of a block, which are needed several times."""
        kept = self._values  # another thread may replace it
        if kept is None or kept[0] is not rows.values:
            values = self._put(rows.values)
            if rows.places is None:
                values = self._whole(values, rows.constant)
            self._values = kept = rows.values, values
        return kept[1]

    def _whole(self, given: Any, constant: float | None) -> Any:
        """The values of a block, as wide as a matrix and with the constant feature."""
        xp, start = self.device.xp, int(constant is not None)
        values = self._empty(given.shape[0])
        values[:, start : start + given.shape[1]] = xp.astype(given, xp.float64)
        if constant is not None:
            values[:, 0] = constant
        return values

    def diagonals(self, count: int) -> Floats:
        """The variances of so many classes."""
        return np.stack([self._diagonal(k) for k in range(count)])

    def _diagonal(self, k: int) -> Floats:
        """The variances of class k, which are copied once for each change."""
        known = self._variances[k]
        if known is None:
            diagonal = to_host(self.device.xp.linalg.diagonal(self.matrices[k]))
            known = self._variances[k] = diagonal[: self.size]
        return known

    def scores(self, rows: BlockRows, means: Floats) -> Floats:
        """The scores of the rows of a block, by the means of each class."""
        given = np.zeros((self._width, means.shape[1])) if rows.places is None else means[rows.span]
        if rows.places is None:
            given[: self.size] = means
        return to_host(self.device.xp.matmul(self._put_values(rows), self._put(given)))

    def products(self, k: int, rows: BlockRows, members: NDArray[np.int64] | None) -> Any:
        """The product of some members of a block, or of all, with the Σ of class k."""
        xp, values, matrix = self.device.xp, self._put_values(rows), self.matrices[k]
        if members is not None:
            values = xp.take(values, self._put(members), axis=0)
        if rows.places is None:
            return xp.matmul(values, matrix)
        product, step = None, max(TAKEN // self.size, 1)
        for start in range(0, rows.places.size, step):  # all at once may not fit
            some = xp.take(matrix, self._put(rows.places[start : start + step]), axis=0)
            part = xp.matmul(values[:, start : start + step], some)
            product = part if product is None else product + part
        return product

    def variances(self, k: int, rows: BlockRows) -> Floats:
        """xᵀΣx of some rows, with the Σ of class k."""
        product = self._at(self.products(k, rows, None), rows.places)
        return to_host(self.device.xp.sum(product * self._put_values(rows), axis=1))

    def gram(self, product: Any, rows: BlockRows, out: Floats) -> Floats:
        """Write the products of P and rows into `out`, with P's first column; return |P|²."""
        xp = self.device.xp
        gram = xp.matmul(self._at(product, rows.places), self._put_values(rows).T)
        norms = xp.sum(product * product, axis=1)
        found = to_host(xp.concat([gram, product[:, :1], norms[:, None]], axis=1))
        out[:] = found[:, :-1]
        return np.ascontiguousarray(found[:, -1])

    def _at(self, product: Any, places: NDArray[np.intp] | None) -> Any:
        if places is None:
            return product
        return self.device.xp.take(product, self._put(places), axis=1)

    def columns(self, product: Any, places: NDArray[np.intp]) -> Floats:
        """Some columns of P."""
        if not places.size:
            return np.empty((product.shape[0], 0))
        return to_host(self._at(product, places))

    def combine(self, factors: Floats, product: Any, chosen: NDArray[np.intp]) -> Any:
        """Sums of chosen rows of P."""
        xp = self.device.xp
        if not np.array_equal(chosen, np.arange(product.shape[0])):
            product = xp.take(product, self._put(chosen), axis=0)
        return xp.matmul(self._put(factors), product)

    def join(self, parts: list[Any]) -> Any:
        """Several products of one class as one."""
        return parts[0] if len(parts) == 1 else self.device.xp.concat(parts, axis=0)

    def to_host(self, array: Any) -> Floats:
        """Rows of such sums as NumPy's."""
        return to_host(array)[..., : self.size]

    def subtract(self, k: int, roots: Any, floor: float) -> None:
        """Take WᵀW from the Σ of class k, in place where the library can."""
        xp, matrix = self.device.xp, self.matrices[k]
        self._host = None
        if hasattr(matrix, "addmm_"):  # PyTorch
            matrix.addmm_(roots.T, roots, alpha=-1.0)
        elif "cupy" in xp.__name__:
            gemm = importlib.import_module("cupy.cublas").gemm
            gemm("T", "N", roots, roots, out=matrix, alpha=-1.0, beta=1.0)
        else:
            for start in range(0, matrix.shape[0], PANEL):
                stop = min(start + PANEL, matrix.shape[0])
                matrix[start:stop, :] -= xp.matmul(roots[:, start:stop].T, roots)
        self._variances[k] = None
        below = np.flatnonzero(self._diagonal(k) < floor).tolist()
        for j in below:
            matrix[j, j] = floor
        if below:
            self._variances[k] = None

    def scale(self, k: int, factor: float) -> None:
        """Multiply the Σ of class k."""
        self.matrices[k] *= factor
        self._host = self._variances[k] = None


class Covariance:
    """The full covariances of a state, as an array; where they are on a device, a copy of those.

    One that is assigned replaces those on the device. It is no field of its own, but how the field
    of the dataclass is kept.
    """

    def __get__(self, state: Any, owner: Any) -> NDArray[Any]:
        if state is None:
            raise AttributeError  # there is no default
        held: NDArray[Any] | DeviceMatrices | FirstMatrices = state.__dict__["covariance"]
        if isinstance(held, FirstMatrices):  # kept, as arrays are changed in place
            held = state.__dict__["covariance"] = held.host()
        return held.host if isinstance(held, DeviceMatrices) else held

    def __set__(self, state: Any, value: NDArray[Any] | FirstMatrices) -> None:
        state.__dict__["covariance"] = value
