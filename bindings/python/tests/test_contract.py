"""scikit-learn's own checks.

Its data are any numbers with any number of columns and classes, so outputs are taken for log odds,
one column a classifier (`layout="positive"`), and, for more than two classes, for logits of as
many classifiers as are needed, the columns repeated in turn.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import consilience as cs

pytestmark = [
    pytest.mark.filterwarnings("ignore::consilience.DataWarning"),
    pytest.mark.filterwarnings("ignore::consilience.ConvergenceWarning"),
    # of base classifiers, fitted on what the checks give
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn"),
    pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix for nan or inf"),
    pytest.mark.filterwarnings("ignore::UserWarning:sklearn"),
]

FAST = dict(chains=1, draws=50, warmup=10)
ESTIMATORS = [
    (cs.AutoFusion, {}),
    (cs.OpinionPool, {}),
    (cs.LinearPool, {}),
    (cs.LogPool, {}),
    (cs.IndependentFusion, FAST),
    (cs.DiscountedFusion, dict(inference="map")),
    (cs.CorrelatedFusion, dict(inference="map")),
    (cs.StackingFusion, {}),
    (cs.LogitNormalFusion, {}),
    (cs.NormalMixtureFusion, dict(components=2, chains=1, warmup=5)),
    (cs.BccFusion, {}),
]


def unlike_copies(estimator):
    """What cannot hold, and why."""
    if not isinstance(estimator, cs.AutoFusion):
        return {}
    reason = "an item with a weight stays in one fold, copies of it are dealt out"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@parametrize_with_checks([
    make(layout="positive", values="logits", **settings)
    for make, settings in ESTIMATORS if make is not cs.CorrelatedFusion  # trees of 20 take long
], expected_failed_checks=unlike_copies)
def test_one_column_a_classifier(estimator, check):
    check(estimator)


class Tiled:
    """Repeats the columns until they are those of two classifiers."""

    def _name(self, X, y):
        self.classes_, self.classifiers_ = np.unique(y), np.array(["c1", "c2"], dtype=object)

    def _block(self, X):
        J = len(self.classes_)
        X = X[:, np.arange(2 * J) % X.shape[1]]
        block = np.ascontiguousarray(X).reshape(len(X), 2, J)
        return np.where(np.isnan(block).any(axis=2, keepdims=True), np.nan, block)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # such columns say little
        return tags


class TiledIndependent(Tiled, cs.IndependentFusion):
    pass


class TiledCorrelated(Tiled, cs.CorrelatedFusion):
    pass


@parametrize_with_checks(
    [make(n_classifiers=2, values="logits", inference="map") for make in (TiledIndependent, TiledCorrelated)]
)
def test_wide(estimator, check):
    check(estimator)


@parametrize_with_checks([
    cs.FusionClassifier([("nb", GaussianNB()), ("logistic", LogisticRegression())], cv=3),
])
def test_over_features(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("make", "settings"), ESTIMATORS)
def test_clone_and_parameters(make, settings):
    model = make(class_prior=[0.2, 0.3, 0.5], random_state=3, **settings)
    again = clone(model)
    assert again.get_params() == model.get_params()
    with pytest.raises(TypeError):
        make("uniform")
