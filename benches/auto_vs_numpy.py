"""`AutoFusion.predict_proba` of a million items, two classifiers, three classes, one thread, against numpy with the
same formula in blocks that stay in the cache: alternating rounds, CPU time, rows per second and their ratio. Both give
the same numbers, which is checked first.

    python benches/auto_vs_numpy.py [rounds]
"""

import json
import os
import statistics
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  (the thread limits must come first)

import consilience as cs  # noqa: E402
from fuse_vs_numpy import BLOCK, CLASSES, CLASSIFIERS, ROWS  # noqa: E402


def softmax(joint):
    joint -= joint.max(axis=0)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=0)
    return joint


class NumpyAuto:
    """The formula of `auto` for complete outputs and a uniform class prior: a mixture of layers, linear pools and a
    logistic part."""

    def __init__(self, parameters):
        alpha = np.array(parameters["alpha"])
        ln_beta = np.array([[self.ln_beta(a) for a in rows] for rows in alpha])
        # Evidence of all classifiers, one below the other, from the logarithms of all outputs.
        self.evidence = np.zeros((CLASSIFIERS * CLASSES, CLASSIFIERS * CLASSES))
        for k in range(CLASSIFIERS):
            own = slice(k * CLASSES, (k + 1) * CLASSES)
            self.evidence[own, own] = alpha[k] - 1
        self.constants = -ln_beta.reshape(-1, 1)
        self.share = parameters["logistic_share"]
        self.members = [self.prepared(member) for member in parameters["members"]]
        logistic = parameters["logistic"]
        self.weights = np.array(logistic["weights"]).reshape(CLASSES, -1)
        self.bias = np.array(logistic["bias"])[:, None]

    @staticmethod
    def ln_beta(alpha):
        from math import fsum, lgamma

        return fsum(map(lgamma, alpha)) - lgamma(fsum(alpha))

    @staticmethod
    def prepared(member):
        """Weight and kind of a member, its bias, and its coefficients as matrices over all outputs."""
        (kind, rule), = member["rule"].items()
        bias = np.array(rule["bias"])[:, None]

        def spread(name):
            return np.hstack([c * np.eye(CLASSES) for c in rule[name]]) if rule.get(name) else None

        if kind == "linear-pool":
            return member["weight"], kind, bias, (rule["exponent"], spread("weights"))
        names = ("output_exponents", "evidence_exponents", "probability_coefficients")
        return member["weight"], kind, bias, [spread(name) for name in names]

    def fuse(self, x, fused):
        for start in range(0, len(x), BLOCK):
            block = x[start : start + BLOCK].reshape(-1, CLASSIFIERS * CLASSES).T
            raised = np.maximum(block, 1e-3).reshape(CLASSIFIERS, CLASSES, -1)
            raised = (raised / raised.sum(axis=1, keepdims=True)).reshape(block.shape)
            features = np.log(raised), self.evidence @ np.log(block) + self.constants, raised
            mixture = self.share * softmax(self.weights @ features[0] + self.bias)
            for weight, kind, bias, coefficients in self.members:
                if kind == "linear-pool":
                    exponent, weights = coefficients
                    joint = exponent * np.log(weights @ raised) + bias
                else:
                    pairs = zip(coefficients, features, strict=True)
                    joint = sum((c @ f for c, f in pairs if c is not None), bias)
                mixture += (1 - self.share) * weight * softmax(joint)
            fused[start : start + BLOCK] = (mixture / mixture.sum(axis=0)).T


def cpu_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main(rounds):
    model = cs.AutoFusion(class_prior="uniform").fit(*cs.simulate("sim2", correlation=0.5, items_per_class=500, random_state=1))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model.json")
        with open(f"{folder}/model.json") as file:
            numpy_auto = NumpyAuto(json.load(file)["parameters"])
    x = np.random.default_rng(1).dirichlet([12.0, 8.0, 8.0], size=(ROWS, CLASSIFIERS))
    fused = np.empty((ROWS, CLASSES))
    numpy_auto.fuse(x, fused)
    off = np.abs(fused - model.predict_proba(x)).max()
    assert off < 1e-9, f"the formulas differ by {off}"
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(ROWS / cpu_seconds(lambda: model.predict_proba(x)))
        theirs.append(ROWS / cpu_seconds(lambda: numpy_auto.fuse(x, fused)))
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(f"consilience   {ours / 1e6:6.1f} million rows per CPU second, checking included (median of {rounds})")
    print(f"numpy {np.__version__:<7} {theirs / 1e6:6.1f} million rows per CPU second")
    print(f"ratio         {ours / theirs:6.1f}; largest difference {off:.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
