"""Labels from a crowd of workers, without gold labels and with a few.

The crowd is simulated: 40 workers of different quality, five of them guess, each statement has five votes, and one
statement in eight misleads most workers. Real crowds share such errors too: on the public set rte (800 items, 164
workers) without gold labels, the log-loss is 0.247, against 0.353 of the majority and 0.547 of Dawid–Skene
(experiments/votes has ten such sets).
"""

import numpy as np
import pandas as pd

import consilience as cs

ITEMS, WORKERS, VOTES, GOLD = 600, 40, 5, 30
rng = np.random.default_rng(7)

truth = pd.Series(np.where(rng.random(ITEMS) < 0.4, "yes", "no"), index=[f"statement {i}" for i in range(ITEMS)])
misleading = rng.random(ITEMS) < 1 / 8
skill = np.r_[np.full(5, 0.5), rng.uniform(0.7, 0.95, WORKERS - 5)]
rows = []
for i, item in enumerate(truth.index):
    for worker in rng.choice(WORKERS, size=VOTES, replace=False):
        right = rng.random() < (1 - 0.8 * skill[worker] if misleading[i] else skill[worker])
        rows.append((item, f"worker {worker}", truth[item] if right else {"yes": "no", "no": "yes"}[truth[item]]))
votes = pd.DataFrame(rows, columns=["task", "worker", "label"])  # crowd-kit's names

crowd = cs.VoteFusion().fit(votes)
print(crowd.labels_.head(3).round(3))
print(f"\ncorrelation of workers {crowd.rho_.value:.2f}: {'an assumption' if crowd.rho_.is_assumption else 'learned'}")
guessing = crowd.sources_.index[crowd.sources_["guessing"]]
print(f"workers that cannot be told from guessing: {len(guessing)}")

# A few checked statements replace the assumption. All rows are scores on other statements.
gold, rest = truth[:GOLD], truth[GOLD:]
checked = cs.VoteFusion().fit(votes, gold)
print(f"with {GOLD} gold labels: {checked.rho_.value:.2f} ({checked.rho_.low:.2f} to {checked.rho_.high:.2f})")

print(f"\non {len(rest)} other statements   accuracy  log-loss  calibration error")
found = cs.compare_votes(votes, held_out=rest)
with_gold = cs.compare_votes(votes, gold, held_out=rest)["methods"][0]
for name, row in [(r["method"], r) for r in found["methods"]] + [(f"auto, {GOLD} gold labels", with_gold)]:
    print(f"{name:25} {row['accuracy']['mean']:9.3f}{row['log_loss']['mean']:10.3f}{row['ece']:19.3f}")
