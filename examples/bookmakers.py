"""Odds of three bookmakers: their correlation, and probabilities fused from all of them.

The odds are simulated. All bookmakers react to the same news, so their odds are correlated, and each of them
keeps a margin. The estimators take decimal odds. A bookmaker without odds for a match is missing there.
"""

import numpy as np
import pandas as pd

import consilience as cs

RESULTS = ["away", "draw", "home"]
BOOKMAKERS = ["north", "south", "west"]


def season(n_matches, seed):
    """Odds and results of simulated matches."""
    rng = np.random.default_rng(seed)
    truth = np.log(rng.dirichlet([6, 5, 9], size=n_matches))
    news = rng.normal(scale=0.35, size=truth.shape)  # errors that all bookmakers share
    result = np.array(RESULTS)[[rng.choice(3, p=p) for p in np.exp(truth)]]
    odds = {}
    for name, noise in zip(BOOKMAKERS, [0.1, 0.1, 0.3], strict=True):
        belief = np.exp(truth + news + rng.normal(scale=noise, size=truth.shape))
        belief /= belief.sum(axis=1, keepdims=True)
        priced = np.maximum(1 / (1.06 * belief), 1.01).round(2)
        priced[rng.random(n_matches) < 0.1] = np.nan
        odds |= {f"{name}_{result}": priced[:, j] for j, result in enumerate(RESULTS)}
    return pd.DataFrame(odds), result


odds, result = season(600, seed=1)
new_odds, new_result = season(600, seed=2)

insight = cs.CorrelatedFusion(values="odds", class_prior="empirical", inference="map").fit(odds, result)
print("correlation of the bookmakers given the result:")
for a in range(3):
    for b in range(a):
        print(f"  {BOOKMAKERS[b]} and {BOOKMAKERS[a]}: {insight.correlation_[a, b].mean():.2f}")
print(f"effective number of independent bookmakers: {insight.n_effective_:.2f} of 3\n")

for name, model in [
    ("opinion pool", cs.OpinionPool(values="odds", class_prior="empirical")),
    ("weighted average", cs.LinearPool(values="odds", class_prior="empirical")),
    ("auto", cs.AutoFusion(values="odds", class_prior="empirical")),
]:
    p = model.fit(odds, result).predict_proba(new_odds)
    found = cs.scores(new_result, p)
    print(f"{name:26} log-loss {found['log_loss']:.3f}, calibration error {found['ece']:.3f}")
