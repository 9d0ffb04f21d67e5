"""The averaged perceptron: predict with the average of all weight vectors.

Symbols: m = y w·x, the signed margin; v = ‖x‖²; w the current vector, u = Σᵢ i y x over the
mistakes, with examples counted from 0 across passes; the average after T examples is w − u/T. It
is taken over the vector after every example, right or wrong, and costs nothing for the right ones.

Differs: mistakes are judged by the current vector, predictions made by the average.

Differs: a margin of exactly 0 counts as a mistake, so that the zero vector learns.

Differs: an example of weight c is added c times.

Cite: Yoav Freund and Robert Schapire. Large margin classification using the perceptron algorithm.
Machine Learning 37, 1999.
"""

from sureline.rules.perceptron import step
from sureline.rules.registry import Rule, register

register(
    Rule(
        module=__name__,
        name="averaged-perceptron",
        estimator="PerceptronClassifier",
        settings={"average": True},
        step=step,
        covariances=("identity",),
        several=False,
        average=True,
    )
)
