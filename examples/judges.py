"""A panel of LLM judges with a small gold set: how many judges do you really have?

Simulated verdict probabilities of five judges on whether an answer is right. Three of them are versions of
one model and err together. 120 answers have been checked by people; the other verdicts are fused.
"""

import numpy as np

import consilience as cs

JUDGES = ["large-v1", "large-v2", "large-v3", "other", "small"]


def verdicts(n, rng):
    """Each judge's probability that an answer is right, and whether it is."""
    right = rng.random(n) < 0.6
    quality = np.where(right, 1.0, -1.0)
    family = rng.normal(scale=1.2, size=n)  # what one family of models likes, rightly or not
    scores = np.stack(
        [1.5 * quality + family + rng.normal(scale=0.3, size=n) for _ in range(3)]
        + [1.2 * quality + rng.normal(scale=1.0, size=n), 0.6 * quality + rng.normal(scale=1.0, size=n)],
        axis=1,
    )
    return 1 / (1 + np.exp(-1.5 * scores)), np.where(right, "right", "wrong")  # too sure of themselves


rng = np.random.default_rng(5)
gold, truth = verdicts(120, rng)
new, new_truth = verdicts(2000, rng)

# One column a judge: its probability of the second class in alphabetical order, "wrong".
panel = cs.AutoFusion(layout="positive", classifiers=JUDGES, class_prior="empirical").fit(1 - gold, truth)
print(f"{len(JUDGES)} judges are worth {panel.n_effective_:.2f} independent ones")
for name, share in zip(JUDGES, panel.shares_, strict=True):
    print(f"  {name:9} independent share {share:.2f}")

fused = cs.scores(new_truth, panel.predict_proba(1 - new))
average = cs.scores(new_truth, np.stack([new.mean(axis=1), 1 - new.mean(axis=1)], axis=1))
votes = (new > 0.5).mean(axis=1)
print("\non 2000 new answers          log-loss  accuracy  calibration error")
for name, found in [("average of the judges", average), ("fused", fused)]:
    print(f"{name:28} {found['log_loss']:8.3f}{found['accuracy']:10.3f}{found['ece']:19.3f}")
majority = np.where(votes > 0.5, "right", "wrong")
print(f"{'majority vote':28} {'':8}{np.mean(majority == new_truth):10.3f}")
