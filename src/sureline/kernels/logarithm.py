"""A logarithm that compilers can take of many numbers at once; the library's takes one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, register_jitable

from sureline.kernels.numba_internals import PLAIN

LOG_2 = math.log(2.0)
ROOT_2 = math.sqrt(2.0)
MANTISSA = (1 << 52) - 1
ONE_BITS = 1023 << 52


def _bits_of(typing_context: Any, x: Any) -> Any:
    """The 64 bits of a float64 as a whole number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


def _from_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 that 64 bits stand for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


def _plain_bits_of(x: float) -> int:
    return int(np.float64(x).view(np.int64))


def _plain_from_bits(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


bits_of: Any = _plain_bits_of if PLAIN else intrinsic(_bits_of)
from_bits: Any = _plain_from_bits if PLAIN else intrinsic(_from_bits)


@register_jitable
def log(x: float) -> float:
    """Ln x of a positive, normal x, to about 1e-15 of max(1, |ln x|), without a branch."""
    return log_ratio(x, 1.0)


@register_jitable
def log_ratio(a: float, b: float) -> float:
    """Ln (a/b) of two positive, normal numbers, as exact as `log`, with one division for both.

    a/b = 2^e m/n with m/n from √½ to √2, and ln (m/n) = 2 artanh z for z = (m − n)/(m + n),
    |z| < 0.172.
    """
    above, below = bits_of(a), bits_of(b)
    m = from_bits((above & MANTISSA) | ONE_BITS)
    n = from_bits((below & MANTISSA) | ONE_BITS)
    high, low = m > ROOT_2 * n, n > ROOT_2 * m
    e = float((above >> 52) - (below >> 52) + (1 if high else 0) - (1 if low else 0))
    m = 0.5 * m if high else m
    n = 0.5 * n if low else n
    z = (m - n) / (m + n)
    s = z * z
    series = 1.0 / 17.0 + s * (1.0 / 19.0)
    series = 1.0 / 13.0 + s * (1.0 / 15.0 + s * series)
    series = 1.0 / 9.0 + s * (1.0 / 11.0 + s * series)
    series = 1.0 / 5.0 + s * (1.0 / 7.0 + s * series)
    series = 1.0 + s * (1.0 / 3.0 + s * series)
    return float(e * LOG_2 + 2.0 * z * series)
