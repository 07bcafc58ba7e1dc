"""The meta estimator over features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import consilience as cs

# iris: several classifiers are certain of every setosa
pytestmark = pytest.mark.filterwarnings("ignore::consilience.DataWarning")

X, y = load_iris(return_X_y=True, as_frame=True)
NAMES = load_iris().target_names
y = NAMES[y]


def parts():
    return [("nb", GaussianNB()), ("knn", KNeighborsClassifier())]


def test_it_is_fusion_of_outputs_out_of_fold():
    model = cs.FusionClassifier(parts(), fusion=cs.IndependentFusion(inference="map"), cv=4).fit(X, y)
    folds = StratifiedKFold(4)
    P = np.stack(
        [cross_val_predict(est, X, y, cv=folds, method="predict_proba") for _, est in parts()], axis=1
    )
    fusion = cs.IndependentFusion(inference="map", classifiers=["nb", "knn"]).fit(P, y)
    assert_array_equal(model.fusion_.alpha_, fusion.alpha_)
    now = np.stack([clone(est).fit(X, y).predict_proba(X) for _, est in parts()], axis=1)
    assert_array_equal(model.predict_proba(X), fusion.predict_proba(now))
    assert_array_equal(model.outputs(X), now)
    assert model.score(X, y) > 0.9
    assert list(model.get_feature_names_out())[:2] == ["nb_setosa", "nb_versicolor"]
    assert_array_equal(model.transform(X).reshape(150, 2, 3), now)
    assert_allclose(model.explain(X).sum(axis=2), 0, atol=1e-9)


def test_default_and_parameters():
    model = cs.FusionClassifier(parts())
    assert model.set_params(knn__n_neighbors=3).get_params()["knn__n_neighbors"] == 3
    model.fit(X, y)
    assert isinstance(model.fusion_, cs.AutoFusion) and model.fusion is None
    assert model.named_estimators_["knn"].n_neighbors == 3
    assert "knn" in model._repr_html_()
    shifted = model.predict_proba(X, class_prior=[0.98, 0.01, 0.01])
    assert (shifted[:, 0] >= model.predict_proba(X)[:, 0] - 1e-12).all()


def test_prefit_and_frozen():
    half = np.arange(150) % 2 == 0
    fitted = [(name, est.fit(X[half], y[half])) for name, est in parts()]
    prefit = cs.FusionClassifier(fitted, cv="prefit").fit(X[~half], y[~half])
    assert prefit.estimators_[0] is fitted[0][1]
    frozen = cs.FusionClassifier([(n, FrozenEstimator(e)) for n, e in fitted]).fit(X[~half], y[~half])
    assert_array_equal(prefit.predict_proba(X), frozen.predict_proba(X))


class Shy(ClassifierMixin, BaseEstimator):
    """Knows nothing of items with a long first feature."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        p = self.inner_.predict_proba(X)
        p[np.asarray(X)[:, 0] > 6] = np.nan
        return p


def test_missing_classifiers():
    model = cs.FusionClassifier([*parts(), ("shy", Shy())]).fit(X, y)
    assert np.isnan(model.outputs(X)[:, 2]).any()
    assert np.isfinite(model.predict_proba(X)).all() and model.score(X, y) > 0.9
    full = model.predict_proba(X)
    model.set_params(knn="drop")
    assert np.isnan(model.outputs(X)[:, 1]).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert not np.array_equal(model.predict_proba(X), full)
    assert len(cs.FusionClassifier([("nb", GaussianNB()), ("knn", "drop")]).fit(X, y).estimators_) == 1


def test_feature_subsets_by_pipelines():
    def on(columns):
        take = ColumnTransformer([("take", "passthrough", columns)])
        return make_pipeline(take, LogisticRegression())

    sepal, petal = list(X.columns[:2]), list(X.columns[2:])
    model = cs.FusionClassifier([("sepal", on(sepal)), ("petal", on(petal))]).fit(X, y)
    assert model.score(X, y) > 0.9
    assert list(model.fusion_.classifiers_) == ["sepal", "petal"]


def test_other_splits():
    partial = cs.FusionClassifier(parts(), cv=ShuffleSplit(2, test_size=0.4, random_state=0)).fit(X, y)
    assert partial.score(X, y) > 0.9  # items that no fold has answered for are left out
    with pytest.raises(ValueError, match="prefit"):
        cs.FusionClassifier(parts(), cv="all").fit(X, y)
    with pytest.raises(ValueError, match="predict_proba"):
        from sklearn.linear_model import RidgeClassifier

        cs.FusionClassifier([("r", RidgeClassifier())]).fit(X, y)
