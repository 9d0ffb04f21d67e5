"""The second-order perceptron, diagonal (SOP): the perceptron in the coordinates of its mistakes.

Symbols: z = Σ y x and M = a + Σ x² over the mistakes, feature by feature; the score of x is
Σ_p z_p x_p / (M_p + x_p²), the example itself being counted before it is judged, in learning and
in prediction alike. A definition, not the solution of a problem.

Differs: only the diagonal of the correlation matrix is kept.

Differs: a score of exactly 0 counts as a mistake, so that the zero vector learns.

Differs: an example of weight c is added c times to z and to M, by analogy with the perceptron.

Differs: coef_ is z/M; the score of an example is a little smaller, because its own squares join M.

Cite: Nicolò Cesa-Bianchi, Alex Conconi and Claudio Gentile. A second-order perceptron algorithm.
SIAM Journal on Computing 34, 2005.
"""

import math
from typing import Any

import numpy as np

from sureline.rules.parameters import COSTS
from sureline.rules.registry import OwnKernel, Parameter, Rule, Vector, register


def score(row: Any, table: Any, column: int, stamps: Any, clock: int, p: Vector) -> float:
    start, stop, indices, data, constant = row
    total: float = constant * table[0, 0, column] / (table[0, 1, column] + constant)
    for k in range(start, stop):
        j, x = indices[k] + 1, np.float64(data[k])
        total += table[j, 0, column] * x / (table[j, 1, column] + x * x)
    return total


def update(
    row: Any,
    table: Any,
    column: int,
    stamps: Any,
    clock: int,
    p: Vector,
    m: float,
    y: float,
    c: float,
) -> bool:
    start, stop, indices, data, constant = row
    if m > 0.0:
        return False
    table[0, 0, column] += c * y * constant
    table[0, 1, column] += c * constant
    for k in range(start, stop):
        j, x = indices[k] + 1, np.float64(data[k])
        table[j, 0, column] += c * y * x
        table[j, 1, column] += c * x * x
    return True


def weights(values: Any, stamps: Any, clock: int, p: Vector) -> Any:
    return values[:, 0] / values[:, 1]


def slots(w: Any, mean: Any, total: Any, clock: int, p: Vector) -> Any:
    M = mean[:, 1]
    return np.column_stack([w * M, M])


register(
    Rule(
        module=__name__,
        name="sop",
        estimator="SOPClassifier",
        parameters=(
            Parameter(
                "a",
                1.0,
                0.0,
                math.inf,
                "The initial value of every M_p: a large a approaches the plain perceptron.",
                grid=COSTS,
            ),
        ),
        constants=lambda a: (a,),
        several=False,
        kernel=OwnKernel(
            score=score,
            update=update,
            weights=weights,
            slots=slots,
            initial=lambda a: (0.0, a),
            linear=False,
        ),
    )
)
