"""Fuses simulated outputs of two sources, and three models of scikit-learn."""

import consilience as cs
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

# Outputs of any sources: an array of items × sources × classes, or a data frame.
P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
new, truth = cs.simulate("sim2", correlation=0.5, items_per_class=100, random_state=2)
model = cs.AutoFusion().fit(P, y)
print(model.predict_proba(new[:2]).round(3))
print(f"{model.n_effective_:.2f} effective sources of 2")
print(model.worth(P, y)["verdict"])

# Models of scikit-learn: the fusion is learned from their held-out outputs.
X, wine = load_wine(return_X_y=True)
models = [("forest", RandomForestClassifier(random_state=0)), ("bayes", GaussianNB()), ("knn", KNeighborsClassifier())]
fused = cs.FusionClassifier(models).fit(X[::2], wine[::2])
print(f"accuracy on new wines {fused.score(X[1::2], wine[1::2]):.3f}")
