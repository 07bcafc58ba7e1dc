"""`predict_proba` of a million items for `independent` and `auto` against numpy, in alternating rounds on one thread.

Prints JSON: for each method our CPU seconds, numpy's and the limits, and whether numpy uses AVX-512. Both sides return
a new array; ours checks every number, numpy's does not. The limits are the time of the memory traffic, of the
logarithms and of the exponentials alone, each measured with numpy in the same process. `bench.py` runs it.
"""

import json
import statistics
import sys
import time
import warnings
from math import fsum, lgamma

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy._core._multiarray_umath import __cpu_features__

import consilience as cs

ROWS, CLASSIFIERS, CLASSES = 1_000_002, 2, 3
BLOCK = 4096
ROUNDS = 9
#: For the variable NPY_DISABLE_CPU_FEATURES.
WITHOUT_AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4"


def softmax(joint):
    joint -= joint.max(axis=0)
    np.exp(joint, out=joint)
    joint /= joint.sum(axis=0)
    return joint


class NumpyIndependent:
    """The independent model in numpy, class by class in blocks that stay in the cache: the fastest layout tried."""

    def __init__(self, alpha):
        self.coefficients = np.hstack([rows - 1.0 for rows in alpha])
        self.constants = -sum(np.array([ln_beta(row) for row in rows]) for rows in alpha)[:, None]

    def __call__(self, x):
        fused = np.empty((len(x), CLASSES))
        for start in range(0, len(x), BLOCK):
            block = x[start : start + BLOCK].reshape(-1, CLASSIFIERS * CLASSES)
            fused[start : start + BLOCK] = softmax(self.coefficients @ np.log(block.T) + self.constants).T
        return fused


def ln_beta(alpha):
    return fsum(map(lgamma, alpha)) - lgamma(fsum(alpha))


class NumpyAuto:
    """`auto` for complete outputs and a uniform class prior in numpy: a mixture of layers, linear pools and a
    logistic part, in the same blocks."""

    def __init__(self, parameters):
        alpha = np.array(parameters["alpha"])
        # Evidence of all classifiers, one below the other, from the logarithms of all outputs.
        self.evidence = np.zeros((CLASSIFIERS * CLASSES, CLASSIFIERS * CLASSES))
        for k in range(CLASSIFIERS):
            own = slice(k * CLASSES, (k + 1) * CLASSES)
            self.evidence[own, own] = alpha[k] - 1
        self.constants = -np.array([ln_beta(a) for rows in alpha for a in rows])[:, None]
        self.share = parameters["logistic_share"]
        self.members = [self.prepared(member) for member in parameters["members"]]
        logistic = parameters["logistic"]
        self.weights = np.array(logistic["weights"]).reshape(CLASSES, -1)
        self.bias = np.array(logistic["bias"])[:, None]

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

    def __call__(self, x):
        fused = np.empty((len(x), CLASSES))
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
        return fused


def cpu_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def medians(*works):
    """Median CPU seconds of each, measured in turns after a round that warms up."""
    rounds = [[cpu_seconds(work) for work in works] for _ in range(ROUNDS + 1)]
    return [statistics.median(times) for times in zip(*rounds[1:], strict=True)]


def in_blocks(function, block):
    """A function of a block that stays in the cache, as often as there are blocks."""
    results = np.empty_like(block)

    def work():
        for _ in range(ROWS // BLOCK):
            function(block, out=results)

    return work


def limits(x, members):
    """CPU seconds of memory traffic, logarithms and exponentials; `members` are those of `auto`."""
    part, room = x[:BLOCK].copy(), np.empty((ROWS, CLASSES))
    reading, writing, ln, exp = medians(x.sum, lambda: room.fill(0.5), in_blocks(np.log, part),
                                        in_blocks(np.exp, -part[:, 0]))
    ln /= CLASSIFIERS  # of one number per item and class, as the exponentials
    pools = sum("linear-pool" in member["rule"] for member in members)
    return {
        "independent": {"memory": reading + writing, "logarithms": CLASSIFIERS * ln, "exponentials": exp},
        # Logarithms of all outputs and of pools; exponentials of the outputs, the logistic part and all members.
        "auto": {"memory": reading + writing, "logarithms": (CLASSIFIERS + pools) * ln,
                 "exponentials": (CLASSIFIERS + 1 + len(members)) * exp},
    }


def frames(model, x):
    """CPU seconds for the same items as columns of a data frame."""
    names = [f"c{k}_{c}" for k in (1, 2) for c in model.classes_]
    columns = dict(zip(names, x.reshape(len(x), -1).T.copy(), strict=True))
    forms = {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns), "pyarrow": pa.table(columns)}
    times = medians(*(lambda X=X: model.predict_proba(X) for X in forms.values()))
    return dict(zip(forms, times, strict=True))


def main():
    x = np.random.default_rng(1).dirichlet([12.0, 8.0, 8.0], size=(ROWS, CLASSIFIERS))
    data = cs.simulate("sim2", correlation=0.5, items_per_class=500, random_state=1)
    models = {"independent": cs.IndependentFusion(inference="map", class_prior="uniform").fit(*data),
              "auto": cs.AutoFusion(class_prior="uniform").fit(*data)}
    parameters = json.loads(models["auto"].model_.to_json())["parameters"]
    peers = {"independent": NumpyIndependent(np.array(models["independent"].alpha_)), "auto": NumpyAuto(parameters)}
    bounds = limits(x, parameters["members"])
    found = {"avx512": __cpu_features__["AVX512F"], "members": len(parameters["members"])}
    for name, model in models.items():
        off = np.abs(peers[name](x) - model.predict_proba(x)).max()
        assert off < 1e-9, f"the formulas of {name} differ by {off}"
        ours, theirs = medians(lambda: model.predict_proba(x), lambda: peers[name](x))
        found[name] = {"ours": ours, "numpy": theirs, "limits": bounds[name]}
    warnings.simplefilter("ignore")  # of column names
    found["frames"] = frames(models["independent"], x)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
