"""Recognition of gestures from camera, gaze and speech, with missing modalities.

A robot recognises gestures from three simulated modalities, each of which may be missing. Missing outputs are NaN,
in training and in prediction.
"""

import numpy as np

import consilience as cs

GESTURES = np.array(["give", "point", "stop", "wave"])
MODALITIES = ["camera", "gaze", "speech"]


def scenes(n, rng, dropout):
    """Logits of the classifier of each modality, and the true gestures."""
    meant = rng.integers(len(GESTURES), size=n)
    clutter = rng.normal(scale=0.8, size=(n, len(GESTURES)))  # errors that camera and gaze share
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
print(f"effective number of independent modalities: {model.n_effective_:.2f} of 3")
print(f"accuracy on all scenes: {model.score(test, meant_test):.3f}")
present = ~np.isnan(test[:, :, 0])
for missing in [(), ("camera",), ("speech",), ("camera", "gaze"), ("camera", "gaze", "speech")]:
    rows = (present == [name not in missing for name in MODALITIES]).all(axis=1)
    right = GESTURES[p[rows].argmax(axis=1)] == meant_test[rows]
    confidence = p[rows].max(axis=1).mean()
    absent = ", ".join(missing) or "none"
    print(f"missing: {absent:20} {rows.sum():4} scenes, accuracy {right.mean():.3f}, mean confidence {confidence:.3f}")
