"""The calibrator of a model file."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sureline.errors import ModelFileError
from sureline.kernels.calibration import (
    FIRM,
    FIRST,
    HEAVY,
    HIGH,
    LEAST_TAU,
    LOG_A,
    LOG_TAU,
    LOW,
    MOST_TAU,
    NO_TAU,
    PRIOR_VARIANCE,
    SCALED,
    SIZE,
    WEIGHT,
    WIDE,
    B,
    H,
)
from sureline.model.serialize.checks import are_numbers
from sureline.model.serialize.fields import Json, short
from sureline.model.state import Layout, first_calibrator, symmetric

MOST_PRECISION = 1e12


def calibrator_of(layout: Layout, fields: Mapping[str, Json]) -> NDArray[np.float64]:
    """The calibrator of a file; earlier versions, which know no τ, called it "curve"."""
    values = first_calibrator(layout.initial_variance, layout.scaled)
    fresh = values.copy()
    if "calibrator" in fields:
        found = fields["calibrator"]
        if not are_numbers(found, SIZE):
            raise ModelFileError(f"its calibrator is {short(found)}, expected {SIZE} numbers")
        values[:] = found
        if not 0.0 < values[WEIGHT] <= HEAVY:
            raise ModelFileError(f"its calibrator gives a row the weight {values[WEIGHT]:g}")
        precision = symmetric(values[H:])
        if np.abs(precision).max() > MOST_PRECISION or np.linalg.eigvalsh(precision)[0] < -FIRM / 2:
            raise ModelFileError(f"its calibrator has the precision {short(found[H:])}")
    else:
        curve = fields.get("curve", [*FIRST[:2], 0.0, 0.0, 0.0])
        if not are_numbers(curve, 5):
            raise ModelFileError(f"its curve is {short(curve)}, expected 5 numbers")
        values[[LOG_A, B, H, H + 1, H + 3]] = curve
        values[LOG_TAU], values[SCALED] = NO_TAU, 0.0
    values[LOG_A], values[B] = np.clip(values[LOG_A], LOW, HIGH), np.clip(values[B], -WIDE, WIDE)
    if values[LOG_TAU] != NO_TAU:
        values[LOG_TAU] = np.clip(values[LOG_TAU], LEAST_TAU, MOST_TAU)
    values[PRIOR_VARIANCE] = fresh[PRIOR_VARIANCE]
    return values
