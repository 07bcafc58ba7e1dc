"""Fusion of three scikit-learn classifiers of handwritten digits.

One classifier uses the upper half of the picture, one the lower half and one the whole picture, so that their
errors differ. The fusion is learned from their outputs for held-out items.
"""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import consilience as cs

X, y = load_digits(return_X_y=True)
X = X / 16 + np.random.default_rng(0).normal(scale=0.35, size=X.shape)  # noise of the camera
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)


def on(columns, model):
    """A classifier that uses some of the features."""
    return make_pipeline(make_column_transformer(("passthrough", list(columns))), model)


models = [
    ("upper", on(range(32), LogisticRegression(max_iter=1000))),
    ("lower", on(range(32, 64), GaussianNB())),
    ("whole", KNeighborsClassifier(15)),
]
fused = cs.FusionClassifier(models).fit(X_train, y_train)

print(f"{'':12}log-loss  accuracy")
for name, model in fused.named_estimators_.items():
    own = cs.scores(y_test, np.maximum(model.predict_proba(X_test), 1e-6))
    print(f"{name:12}{own['log_loss']:8.3f}{own['accuracy']:10.3f}")
own = cs.scores(y_test, fused.predict_proba(X_test))
print(f"{'fused':12}{own['log_loss']:8.3f}{own['accuracy']:10.3f}")
print(f"effective number of independent classifiers: {fused.fusion_.n_effective_:.2f} of {len(models)}")

hardest = fused.predict_proba(X_test).max(axis=1).argmin()
evidence = fused.explain(X_test[[hardest]])[0]
print(f"\nthe least certain item is a {y_test[hardest]}, predicted as {fused.predict(X_test[[hardest]])[0]}:")
for name, row in zip(fused.named_estimators_, evidence, strict=True):
    print(f"  {name:6} most evidence for {row.argmax()} ({row.max():+.2f} nats), against {row.argmin()} ({row.min():+.2f} nats)")
