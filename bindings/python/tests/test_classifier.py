"""`FusionClassifier`: fusion of scikit-learn classifiers over features."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import consilience as cs

# On iris, several classifiers predict every setosa with probability 1.
pytestmark = pytest.mark.filterwarnings("ignore::consilience.DataWarning")

X, y = load_iris(return_X_y=True, as_frame=True)
NAMES = load_iris().target_names
y = NAMES[y]


def parts():
    return [("nb", GaussianNB()), ("knn", KNeighborsClassifier())]


def test_the_fusion_is_fitted_on_outputs_for_held_out_items():
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


def test_default_fusion_and_parameters():
    model = cs.FusionClassifier(parts())
    assert model.set_params(knn__n_neighbors=3).get_params()["knn__n_neighbors"] == 3
    model.fit(X, y)
    assert isinstance(model.fusion_, cs.AutoFusion) and model.fusion is None
    assert model.named_estimators_["knn"].n_neighbors == 3
    assert "knn" in model._repr_html_()
    shifted = model.predict_proba(X, class_prior=[0.98, 0.01, 0.01])
    assert (shifted[:, 0] >= model.predict_proba(X)[:, 0] - 1e-12).all()


def test_prefit_and_frozen_estimators_are_used_as_they_are():
    half = np.arange(150) % 2 == 0
    fitted = [(name, est.fit(X[half], y[half])) for name, est in parts()]
    prefit = cs.FusionClassifier(fitted, cv="prefit").fit(X[~half], y[~half])
    assert prefit.estimators_[0] is fitted[0][1]
    frozen = cs.FusionClassifier([(n, FrozenEstimator(e)) for n, e in fitted]).fit(X[~half], y[~half])
    assert_array_equal(prefit.predict_proba(X), frozen.predict_proba(X))


class Partial(ClassifierMixin, BaseEstimator):
    """Predicts NaN for items whose first feature is large."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        p = self.inner_.predict_proba(X)
        p[np.asarray(X)[:, 0] > 6] = np.nan
        return p


def test_missing_and_dropped_classifiers():
    model = cs.FusionClassifier([*parts(), ("partial", Partial())]).fit(X, y)
    assert np.isnan(model.outputs(X)[:, 2]).any()
    assert np.isfinite(model.predict_proba(X)).all() and model.score(X, y) > 0.9
    full = model.predict_proba(X)
    model.set_params(knn="drop")
    assert np.isnan(model.outputs(X)[:, 1]).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert not np.array_equal(model.predict_proba(X), full)
    assert len(cs.FusionClassifier([("nb", GaussianNB()), ("knn", "drop")]).fit(X, y).estimators_) == 1


def test_pipelines_select_subsets_of_features():
    def on(columns):
        take = ColumnTransformer([("take", "passthrough", columns)])
        return make_pipeline(take, LogisticRegression())

    sepal, petal = list(X.columns[:2]), list(X.columns[2:])
    model = cs.FusionClassifier([("sepal", on(sepal)), ("petal", on(petal))]).fit(X, y)
    assert model.score(X, y) > 0.9
    assert list(model.fusion_.classifiers_) == ["sepal", "petal"]


def test_items_in_no_test_fold_are_left_out():
    partial = cs.FusionClassifier(parts(), cv=ShuffleSplit(2, test_size=0.4, random_state=0)).fit(X, y)
    assert partial.score(X, y) > 0.9
    with pytest.raises(ValueError, match="prefit"):
        cs.FusionClassifier(parts(), cv="all").fit(X, y)


def test_a_prefit_estimator_with_other_classes_is_refused():
    fitted = GaussianNB().fit(X, y)
    two = y != "versicolor"
    with pytest.raises(cs.ConsilienceError, match="`nb` was fitted with classes that are not in y: `versicolor`"):
        cs.FusionClassifier([("nb", fitted)], cv="prefit").fit(X[two], y[two])


# Methods that outputs are made from


class Spy(LogisticRegression):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Spy.fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_of_decision_function_are_taken_as_logits(classes):
    """For logistic regression this gives its probabilities."""
    some = y != "setosa" if classes == 2 else np.full(150, True)
    logistic = [("a", LogisticRegression(max_iter=1000)), ("b", LogisticRegression(C=0.01))]
    fusion = cs.IndependentFusion(inference="map")
    scores = cs.FusionClassifier(logistic, fusion=fusion, stack_method="decision_function").fit(X[some], y[some])
    assert scores.stack_method_ == ["decision_function", "decision_function"]
    probabilities = cs.FusionClassifier(logistic, fusion=fusion).fit(X[some], y[some])
    assert probabilities.stack_method_ == ["predict_proba", "predict_proba"]
    assert_allclose(scores.outputs(X), probabilities.outputs(X), rtol=1e-9)
    assert_allclose(scores.predict_proba(X), probabilities.predict_proba(X), rtol=1e-6)


def test_estimators_without_probabilities_are_fused_by_their_scores():
    estimators = [("svc", SVC()), ("linear", make_pipeline(StandardScaler(), LinearSVC())), ("nb", GaussianNB())]
    model = cs.FusionClassifier(estimators).fit(X, y)
    assert model.stack_method_ == ["decision_function", "decision_function", "predict_proba"]
    assert_allclose(model.outputs(X).sum(axis=2), 1)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(("estimator", "stack_method", "message"), [
    (SVC(), "predict_proba", r"estimator `last` \(SVC\) has no `predict_proba`"),
    (RidgeClassifier(), "predict_proba", "has no `predict_proba`"),
    (KNeighborsClassifier(), "decision_function", "has no `decision_function`"),
    (GaussianNB(), "predict", "`stack_method` must be auto, predict_proba or decision_function"),
])
def test_estimators_without_the_method_are_refused_before_any_fit(estimator, stack_method, message):
    Spy.fits = 0
    model = cs.FusionClassifier([("first", Spy()), ("last", estimator)], stack_method=stack_method)
    with pytest.raises(cs.ConsilienceError, match=message):
        model.fit(X, y)
    assert Spy.fits == 0


def test_one_score_per_class_is_needed():
    pairs = SVC(decision_function_shape="ovo")  # six scores for four classes
    X4 = np.random.default_rng(0).normal(size=(80, 2))
    with pytest.raises(cs.ConsilienceError, match="`pairs` must give one score per class, .* for 4 classes"):
        cs.FusionClassifier([("pairs", pairs)]).fit(X4, np.arange(80) % 4)


def test_there_is_no_passthrough_and_the_documentation_says_why():
    with pytest.raises(TypeError, match="passthrough"):
        cs.FusionClassifier(parts(), passthrough=True)
    assert "There is no `passthrough`" in cs.FusionClassifier.__doc__


# Weights


def test_weights_reach_the_estimators_and_the_fusion():
    weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    both = [("nb", GaussianNB()), ("logistic", make_pipeline(StandardScaler(), LogisticRegression()))]
    model = cs.FusionClassifier(both, fusion=cs.IndependentFusion(inference="map"), cv=4)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="`sample_weight` is not accepted")
        model.fit(X, y, sample_weight=weights)

    def fitted(items):
        logistic = make_pipeline(StandardScaler(), LogisticRegression())
        return [GaussianNB().fit(X.iloc[items], y[items], weights[items]),
                logistic.fit(X.iloc[items], y[items], logisticregression__sample_weight=weights[items])]

    P = np.empty((150, 2, 3))
    for train, test in StratifiedKFold(4).split(X, y):
        P[test] = np.stack([est.predict_proba(X.iloc[test]) for est in fitted(train)], axis=1)
    names = ["nb", "logistic"]
    fusion = cs.IndependentFusion(inference="map", classifiers=names).fit(P, y, sample_weight=weights)
    assert model.fusion_.model_.to_json() == fusion.model_.to_json()
    now = np.stack([est.predict_proba(X) for est in fitted(np.arange(150))], axis=1)
    assert_array_equal(model.outputs(X), now)


def test_a_warning_names_estimators_that_are_fitted_without_weights():
    weights = np.linspace(0.5, 1.5, 150)
    with pytest.warns(cs.DataWarning, match="`sample_weight` is not accepted by `knn`") as found:
        cs.FusionClassifier(parts()).fit(X, y, sample_weight=weights)
    assert found[0].filename == __file__
    fitted = [(name, FrozenEstimator(est.fit(X, y))) for name, est in parts()]
    for model in (cs.FusionClassifier(fitted), cs.FusionClassifier(fitted, cv="prefit")):
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="`sample_weight` is not accepted")
            model.fit(X, y, sample_weight=weights)


def test_items_with_weight_zero_are_left_out():
    """Also of estimators that accept no weights."""
    kept = np.arange(150) % 5 > 0
    with pytest.warns(cs.DataWarning, match="`knn`"):
        model = cs.FusionClassifier(parts(), cv=ShuffleSplit(1, random_state=0)).fit(X, y, kept.astype(float))
    now = np.stack([clone(est).fit(X[kept], y[kept]).predict_proba(X) for _, est in parts()], axis=1)
    assert_array_equal(model.outputs(X), now)


def test_requested_weights_reach_the_steps_of_a_pipeline():
    weights = np.where(y == "setosa", 1.0, 3.0)
    with sklearn.config_context(enable_metadata_routing=True):
        step = LogisticRegression().set_fit_request(sample_weight=True)
        scale = StandardScaler().set_fit_request(sample_weight=False)
        model = cs.FusionClassifier([("logistic", make_pipeline(scale, step))]).fit(X, y, sample_weight=weights)
        expected = make_pipeline(scale, step).fit(X, y, sample_weight=weights).predict_proba(X)
    assert_array_equal(model.outputs(X)[:, 0], expected)


@pytest.mark.parametrize(("weights", "fusion", "message"), [
    (np.full(150, 0.5), cs.CorrelatedFusion(), "CorrelatedFusion must be whole numbers"),
    (np.where(np.arange(150) == 7, np.nan, 1.0), None, r"`sample_weight\[7\]` must be finite"),
    (np.where(np.arange(150) == 7, -1.0, 1.0), None, "not negative, got -1"),
    (np.zeros(150), None, "zero"),
    (np.ones(3), None, "shape"),
])
def test_wrong_weights_are_refused_before_any_fit(weights, fusion, message):
    Spy.fits = 0
    with pytest.raises(ValueError, match=message):
        cs.FusionClassifier([("spy", Spy())], fusion=fusion).fit(X, y, sample_weight=weights)
    assert Spy.fits == 0


def test_worth_is_that_of_the_held_out_outputs():
    from sklearn.datasets import load_breast_cancer
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    parts = [("nb", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
    model = cs.FusionClassifier(parts).fit(X, y)
    assert model.out_of_fold_.shape == (len(y), 2, 2)
    found = model.worth()
    assert found["n_items"] == len(y) and found["verdict"]
    assert found == model.fusion_.worth(model.out_of_fold_, y)
    with pytest.raises(cs.ConsilienceError, match="AutoFusion"):
        cs.FusionClassifier(parts, fusion=cs.LinearPool()).fit(X, y).worth()


def test_groups_are_held_out_together():
    """Copies of an item in other folds give the answer away: with groups, a nearest neighbour is not certain."""
    rng = np.random.default_rng(3)
    groups = rng.permutation(np.repeat(np.arange(60), 4))
    X, y = rng.normal(size=(60, 2))[groups], groups % 2
    models = [("one", KNeighborsClassifier(1)), ("three", KNeighborsClassifier(3))]
    right = {}
    for name, own in [("alone", None), ("together", groups)]:
        outputs = cs.FusionClassifier(models).fit(X, y, groups=own).out_of_fold_[:, 0]
        right[name] = (outputs.argmax(axis=1) == y).mean()
    assert right["alone"] > 0.99 and right["together"] < 0.75
    again = cs.FusionClassifier(models, cv=GroupKFold(4)).fit(X, y, groups=groups).out_of_fold_[:, 0]
    assert (again.argmax(axis=1) == y).mean() < 0.75


def test_scores_and_print_are_those_of_the_fusion():
    X, y = load_iris(return_X_y=True)
    model = cs.FusionClassifier([("bayes", GaussianNB()), ("three", KNeighborsClassifier(3))])
    assert str(model) == repr(model)
    model.fit(X[::2], y[::2])
    found = model.evaluate(X[1::2], y[1::2], bootstrap=20)
    assert found == model.fusion_.evaluate(model.outputs(X[1::2]), y[1::2], bootstrap=20)
    assert "effective number" in str(model) and "consilience-summary" in model._repr_html_()


@pytest.mark.parametrize("labels", [
    [float("nan"), *y[1:]], [None, *y[1:]], np.ma.masked_array(y, np.arange(150) == 0),
], ids=["nan", "none", "masked"])
def test_items_without_a_label_are_refused(labels):
    with pytest.raises(cs.ConsilienceError, match="1 item has no label, the first is item 0"):
        cs.FusionClassifier(parts()).fit(X, labels)
