"""A robot that recognises a gesture from speech, gaze and camera, any of which may drop out.

Missing modalities are NaN, in training and later; what the others imply stands in for them.
"""

import numpy as np

import consilience as cs

GESTURES = np.array(["give", "point", "stop", "wave"])
MODALITIES = ["camera", "gaze", "speech"]


def scenes(n, rng, dropout):
    """What each modality's classifier says, and what was meant."""
    meant = rng.integers(len(GESTURES), size=n)
    clutter = rng.normal(scale=0.8, size=(n, len(GESTURES)))  # seen by camera and gaze alike
    signal = np.eye(len(GESTURES))[meant]
    logits = np.stack([
        2.5 * signal + clutter + rng.normal(scale=0.5, size=clutter.shape),
        1.5 * signal + clutter + rng.normal(scale=0.5, size=clutter.shape),
        2.0 * signal + rng.normal(scale=0.9, size=clutter.shape),
    ], axis=1)
    logits[rng.random((n, 3)) < dropout] = np.nan
    return logits, GESTURES[meant]


rng = np.random.default_rng(3)
train, meant = scenes(600, rng, dropout=0.1)
test, meant_test = scenes(1500, rng, dropout=0.3)

model = cs.AutoFusion(values="logits", classifiers=MODALITIES).fit(train, meant)
p = model.predict_proba(test)
print(f"worth {model.n_effective_:.2f} independent modalities of 3; overall accuracy {model.score(test, meant_test):.3f}")
present = ~np.isnan(test[:, :, 0])
for missing in [(), ("camera",), ("speech",), ("camera", "gaze"), ("camera", "gaze", "speech")]:
    rows = (present == [name not in missing for name in MODALITIES]).all(axis=1)
    right = GESTURES[p[rows].argmax(axis=1)] == meant_test[rows]
    sure = p[rows].max(axis=1).mean()
    print(f"without {', '.join(missing) or 'nothing':20} {rows.sum():4} scenes, {right.mean():.3f} right, {sure:.3f} sure")
