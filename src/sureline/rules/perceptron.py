"""The perceptron: add every example that is classified wrong.

Symbols: m = y w·x, the signed margin; v = ‖x‖², which the margin moves by when the example is
added. The perceptron is a definition, not the solution of a problem.

Differs: a margin of exactly 0 counts as a mistake, so that the zero vector learns.

Differs: an example of weight c is added c times.

Cite: Frank Rosenblatt. The perceptron: a probabilistic model for information storage and
organization in the brain. Psychological Review 65, 1958.
"""

from sureline.rules.registry import Rule, register


def step(m: float, v: float, c: float, _a: float, _b: float) -> tuple[float, float]:
    if m > 0.0:
        return 0.0, 0.0
    return c * v, 0.0


register(
    Rule(
        module=__name__,
        name="perceptron",
        estimator="PerceptronClassifier",
        settings={"average": False},
        step=step,
        covariances=("identity",),
        several=False,
    )
)
