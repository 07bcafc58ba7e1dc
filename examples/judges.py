"""A panel of LLM judges with few checked answers: the effective number of judges, and fused verdicts.

Five simulated judges give the probability that an answer is right. Three of them are versions of one model and
make the same errors. People have checked 120 answers, from which the fusion is learned.
"""

import numpy as np

import consilience as cs

JUDGES = ["large-v1", "large-v2", "large-v3", "other", "small"]


def verdicts(n, rng):
    """The probabilities of the judges that each answer is right, and the true classes."""
    right = rng.random(n) < 0.6
    quality = np.where(right, 1.0, -1.0)
    family = rng.normal(scale=1.2, size=n)  # errors that one family of models shares
    scores = np.stack(
        [1.5 * quality + family + rng.normal(scale=0.3, size=n) for _ in range(3)]
        + [1.2 * quality + rng.normal(scale=1.0, size=n), 0.6 * quality + rng.normal(scale=1.0, size=n)],
        axis=1,
    )
    return 1 / (1 + np.exp(-1.5 * scores)), np.where(right, "right", "wrong")  # overconfident


rng = np.random.default_rng(5)
gold, truth = verdicts(120, rng)
new, new_truth = verdicts(2000, rng)

# One column per judge: its probability of the second class in alphabetical order, "wrong".
panel = cs.AutoFusion(layout="positive", classifiers=JUDGES, class_prior="empirical").fit(1 - gold, truth)
print(f"effective number of independent judges: {panel.n_effective_:.2f} of {len(JUDGES)}")
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
