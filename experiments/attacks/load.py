"""Mutated model files and statistics in Python: load.py NUMBER. Prints what became of them, by exception.

The mutations are those of scripts/attack.py. A file is loaded and used, or refused with a `ConsilienceError`; any other
exception is a finding.
"""

import collections
import json
import random
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import consilience as cs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from attacks.mutations import mutate, mutate_json  # noqa: E402

MODELS = [
    cs.AutoFusion(), cs.OpinionPool(), cs.LinearPool(), cs.LogPool(), cs.IndependentFusion(inference="map"),
    cs.DiscountedFusion(inference="map"), cs.CorrelatedFusion(inference="map"), cs.StackingFusion(),
    cs.LogitNormalFusion(), cs.NormalMixtureFusion(components=2, chains=1, warmup=5, draws=3), cs.BccFusion(),
]


def mutated(content, rng):
    """A damaged file; half of them only in the part `estimator`, which Python reads."""
    file = json.loads(content)
    if rng.random() < 0.5 and isinstance(file.get("estimator"), dict):
        kept, file["estimator"] = file["estimator"], "@"
        return json.dumps(file).encode().replace(b'"@"', mutate_json(kept, rng))
    return mutate(content, rng) if rng.random() < 0.3 else mutate_json(file, rng)


def use(path, P, votes):
    model = cs.load(path)
    repr(model)
    fused = model.predict_proba(votes if isinstance(model, cs.VoteFusion) else P[:3])
    assert np.isfinite(np.asarray(fused, float)).all()


def use_statistics(text, statistics, P):
    found = cs.Statistics.from_json(text)
    found.merge(statistics)
    cs.IndependentFusion(inference="map").fit_statistics(found).predict_proba(P[:3])


def outcome(run):
    """What became of a file, and where an unexpected exception came from."""
    try:
        run()
        return "used", None
    except cs.ConsilienceError:
        return "refused", None
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return type(error).__name__, f"{error} ({Path(place.filename).name}, line {place.lineno})"


def main():
    warnings.simplefilter("ignore")
    P, y = cs.simulate("sim2", items_per_class=20, random_state=1)
    rows = [(i, f"s{s}", (i + (s * i) % 2) % 3) for i in range(30) for s in range(4)]
    votes = pd.DataFrame(rows, columns=["item", "source", "label"])
    statistics = cs.Statistics(["c1", "c2"], ["1", "2", "3"])
    statistics.add(P, y)
    counts = {"model files": collections.Counter(), "statistics": collections.Counter()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        stock = []
        for model in [*MODELS, *[None] * 4]:
            (cs.VoteFusion().fit(votes) if model is None else model.fit(P, y)).save(path)
            stock.append(path.read_bytes())
        for number in range(int(sys.argv[1])):
            rng = random.Random(number)
            path.write_bytes(mutated(rng.choice(stock), rng))
            text = mutate_json(json.loads(statistics.to_json()), rng).decode()
            for kind, run in [("model files", lambda: use(path, P, votes)),
                              ("statistics", lambda: use_statistics(text, statistics, P))]:
                what, message = outcome(run)
                counts[kind][what] += 1
                if message and counts[kind][what] == 1:
                    print(f"{kind} {number}: {what}: {message}", file=sys.stderr)
    for kind, found in counts.items():
        print(kind, dict(found))


if __name__ == "__main__":
    main()
