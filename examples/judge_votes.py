"""LLM judges that answer "A" or "B", and a reward model that gives probabilities, in one panel.

Five simulated judges choose the better of two answers. Three of them are versions of one model and fall for the same
long answers. A reward model gives the probability of its choice, which makes its votes graded: a confident vote counts
more. People have checked 60 comparisons. On public results of nine LLM judges (RewardBench 2, four candidates) without
gold labels, graded votes have a log-loss of 0.325, bare votes 0.368 and Dawid–Skene 1.122 (experiments/votes).
"""

import numpy as np
import pandas as pd

import consilience as cs

FAMILY, OTHERS = ["large-v1", "large-v2", "large-v3"], ["other", "small"]
rng = np.random.default_rng(3)


def panel(n, first):
    """Votes on n comparisons, numbered from `first`, and the better answers."""
    better = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    family = rng.normal(scale=2.0, size=n)  # errors that one family of models shares
    rows = []
    for i in range(n):
        scores = {name: 1.3 * better[i] + family[i] + rng.normal(scale=0.4) for name in FAMILY}
        scores |= {"other": better[i] + rng.normal(), "small": 0.4 * better[i] + rng.normal()}
        for name, score in scores.items():
            rows.append((first + i, name, "A" if score > 0 else "B", None))
        p = 1 / (1 + np.exp(-2 * (better[i] + rng.normal())))
        rows.append((first + i, "reward model", "A" if p > 0.5 else "B", max(p, 1 - p)))
    votes = pd.DataFrame(rows, columns=["item", "source", "label", "probability"])
    return votes, pd.Series(np.where(better > 0, "A", "B"), index=range(first, first + n))


votes, truth = panel(400, 0)
model = cs.VoteFusion().fit(votes, gold=truth[:60])
print(model.sources_[["votes", "accuracy", "accuracy_low", "accuracy_high", "strength"]].round(2))
print(f"\ncorrelation of judges {model.rho_.value:.2f} ({model.rho_.low:.2f} to {model.rho_.high:.2f}), learned from "
      f"{len(truth[:60])} gold labels; {model.labels_['effective_votes'].mean():.1f} effective votes of 6")

# The saved model labels new comparisons, in Python or with `consilience fuse`.
new, new_truth = panel(1000, 1000)
scores = model.evaluate(new, new_truth)
print("\non 1000 new comparisons   accuracy  log-loss  calibration error")
for row in scores["methods"]:
    print(f"{row['method']:24} {row['accuracy']['mean']:9.3f}{row['log_loss']['mean']:10.3f}{row['ece']:19.3f}")
bare = cs.VoteFusion().fit(votes.drop(columns="probability"), truth[:60])
row = bare.evaluate(new.drop(columns="probability"), new_truth)["methods"][0]
print(f"{'auto without grades':24} {row['accuracy']['mean']:9.3f}{row['log_loss']['mean']:10.3f}{row['ece']:19.3f}")
