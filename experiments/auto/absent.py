"""Three in ten outputs absent at random: what it costs, and whether filling in beats dropping incomplete items."""

import numpy as np
from common import FUSIONS, REAL, balanced, log_losses, out_of_fold, real_set, write

auto = FUSIONS["auto"]
rows = []
for name in REAL:
    P, y = real_set(name)
    gaps = P.copy()
    gaps[np.random.default_rng(0).random(P.shape[:2]) < 0.3] = np.nan
    whole = ~np.isnan(gaps).any(axis=(1, 2))
    complete = log_losses(out_of_fold(auto, P, y), y)
    filled = log_losses(out_of_fold(auto, gaps, y), y)
    dropped = log_losses(out_of_fold(auto, gaps, y, train_on=lambda train: train[whole[train]]), y)
    row = [name, f"{whole.mean():.2f}"]
    row += [f"{balanced(losses, y)[0]:.4f}" for losses in (complete, filled, dropped)]
    for other in (complete, dropped):
        gap, se = balanced(filled - other, y)
        row += [f"{gap:+.4f}", f"{se:.4f}"]
    rows.append(row)
write(
    "absent.csv",
    ["set", "complete_items", "complete", "30%_absent", "fit_to_complete"]
    + ["absent-complete", "se", "absent-fit_to_complete", "se"],
    rows,
)
