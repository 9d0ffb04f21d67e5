"""A logarithm that compilers can take of many numbers at once; the library's takes one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, register_jitable

from sureline.kernels.compiling import PLAIN

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
    """Ln x of a positive, normal x, to about 1e-15 of max(1, |ln x|), without a branch.

    x = 2^e m with m from √½ to √2, and ln m = 2 artanh z for z = (m − 1)/(m + 1), |z| < 0.172.
    """
    bits = bits_of(x)
    m = from_bits((bits & MANTISSA) | ONE_BITS)
    high = m > ROOT_2
    e = float((bits >> 52) - 1023 + (1 if high else 0))
    m = 0.5 * m if high else m
    z = (m - 1.0) / (m + 1.0)
    s = z * z
    series = 1.0 / 17.0 + s * (1.0 / 19.0)
    series = 1.0 / 13.0 + s * (1.0 / 15.0 + s * series)
    series = 1.0 / 9.0 + s * (1.0 / 11.0 + s * series)
    series = 1.0 / 5.0 + s * (1.0 / 7.0 + s * series)
    series = 1.0 + s * (1.0 / 3.0 + s * series)
    return float(e * LOG_2 + 2.0 * z * series)
