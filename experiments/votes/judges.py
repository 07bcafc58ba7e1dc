"""LLM judges as voters: bare votes, graded votes and probabilities on RewardBench 2.

    python judges.py DATA     DATA: judges_rewardbench2.csv

Nine sources, four candidate answers per question; `label` is the right one. A vote is a source's most probable
candidate, a graded vote has its probability as well. Gold labels are random questions, ten draws; scores are those of
all other questions. Needs the Python package.
"""

import sys
import warnings

import numpy as np
import pandas as pd

import consilience as cs

DRAWS = 10
GOLD = (0, 50, 500)


def long_table(data, classes):
    """One row per source and question with an output: the vote and the probabilities."""
    sources = sorted({name[:-2] for name in data.columns if name.endswith("_A")})
    parts = []
    for source in sources:
        p = data[[f"{source}_{c}" for c in classes]].to_numpy()
        seen = ~np.isnan(p).any(axis=1)
        part = pd.DataFrame({"item": data["item"][seen], "source": source, "label": np.array(classes)[p[seen].argmax(1)]})
        parts.append(part.assign(probability=p[seen].max(axis=1)))
    return pd.concat(parts)


def scores(p, truth, classes):
    found = cs.scores(truth, np.maximum(p, 1e-6) / np.maximum(p, 1e-6).sum(axis=1, keepdims=True), classes=classes)
    return [found[name] for name in ("accuracy", "log_loss", "brier", "ece")]


def main(path):
    data, classes = pd.read_csv(path), list("ABCD")
    truth = data.set_index("item")["label"]
    graded = long_table(data, classes)
    bare = graded.drop(columns="probability")
    ways = {
        "majority": lambda gold: cs.VoteFusion(method="majority").fit(bare, gold).probabilities_,
        "dawid-skene": lambda gold: cs.VoteFusion(method="dawid-skene").fit(bare, gold).probabilities_,
        "votes": lambda gold: cs.VoteFusion().fit(bare, gold).probabilities_,
        "graded votes": lambda gold: cs.VoteFusion().fit(graded, gold).probabilities_,
        "AutoFusion": lambda gold: with_probabilities(data, truth, gold, classes),
    }
    for n in GOLD:
        for name, way in ways.items():
            rows = []
            for draw in range(DRAWS if n else 1):
                chosen = np.random.default_rng(draw).permutation(truth.index)[:n]
                gold = truth[chosen] if n else None
                p = way(gold).loc[truth.index].to_numpy()
                rest = ~truth.index.isin(chosen)
                rows.append(scores(p[rest], truth.to_numpy()[rest], classes))
            print(f"{n:4} gold, {name:13}", " / ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)), flush=True)


def with_probabilities(data, truth, gold, classes):
    known = truth.where(truth.index.isin(gold.index)) if gold is not None else None
    columns = [name for name in data.columns if name[-2:-1] == "_"]
    model = cs.AutoFusion(classes=classes).fit(data[columns], known)
    return pd.DataFrame(model.predict_proba(data[columns]), index=truth.index)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1])
