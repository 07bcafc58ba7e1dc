"""The estimator checks of scikit-learn.

Their data are real numbers with any number of columns and classes. With two classes, each column is
read as the log odds of one classifier (`layout="positive"`). With more classes, the columns are repeated
until they are the logits of two classifiers.
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
    # Issued by the base classifiers for the data of the checks.
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


def expected_failures(estimator):
    """Checks that cannot hold, and the reason."""
    failures = {}
    if type(estimator) in (cs.AutoFusion, cs.OpinionPool):
        reason = "NaN is an item without a label, and none is needed"
        failures["check_supervised_y_no_nan"] = reason
    if isinstance(estimator, cs.FusionClassifier):
        reason = "an item with weight 2 stays in one fold, two copies of it may be in different folds"
        failures["check_sample_weight_equivalence_on_dense_data"] = reason
    return failures


@parametrize_with_checks([
    make(layout="positive", values="logits", **settings)
    for make, settings in ESTIMATORS if make is not cs.CorrelatedFusion  # slow: some checks have 20 columns
], expected_failed_checks=expected_failures)
def test_one_column_per_classifier(estimator, check):
    check(estimator)


class Tiled:
    """Repeats the columns until they are those of two classifiers."""

    def _set_names(self, n_columns, selection):
        self.classifiers_ = np.array(["c1", "c2"], dtype=object)

    def _block(self, X):
        J = len(self.classes_)
        X = X[:, np.arange(2 * J) % X.shape[1]]
        block = np.ascontiguousarray(X).reshape(len(X), 2, J)
        return np.where(np.isnan(block).any(axis=2, keepdims=True), np.nan, block)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # such columns carry little information
        return tags


class TiledIndependent(Tiled, cs.IndependentFusion):
    pass


class TiledCorrelated(Tiled, cs.CorrelatedFusion):
    pass


@parametrize_with_checks(
    [make(n_classifiers=2, values="logits", inference="map") for make in (TiledIndependent, TiledCorrelated)]
)
def test_one_column_per_classifier_and_class(estimator, check):
    check(estimator)


@parametrize_with_checks([
    cs.FusionClassifier([("nb", GaussianNB()), ("logistic", LogisticRegression())], cv=3),
], expected_failed_checks=expected_failures)
def test_fusion_over_features(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("make", "settings"), ESTIMATORS)
def test_clones_have_the_same_parameters(make, settings):
    model = make(class_prior=[0.2, 0.3, 0.5], random_state=3, **settings)
    again = clone(model)
    assert again.get_params() == model.get_params()
    with pytest.raises(TypeError):
        make("uniform")
