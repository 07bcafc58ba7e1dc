"""Estimators in the model stores of other projects: skops files and MLflow."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import consilience as cs
from consilience import _core

NEEDS = "`make test-reach` installs it"


def trusted(*names):
    """The types that skops has to be told to trust: those of this package."""
    return ["consilience._core.Model", "consilience._learned.Insight", *names]


def same(again, model, X):
    assert type(again) is type(model)
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.get_params().keys() == model.get_params().keys()


@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
def test_skops_gives_back_every_estimator(model, train, test):
    io = pytest.importorskip("skops.io", reason=NEEDS)
    model.fit(*train)
    own = trusted(f"consilience.estimators.{type(model).__name__}")
    same(io.loads(io.dumps(model), trusted=own), model, test[0])
    with pytest.raises(io.exceptions.UntrustedTypesFoundException):
        io.loads(io.dumps(model))


def test_skops_gives_back_a_fusion_classifier():
    io = pytest.importorskip("skops.io", reason=NEEDS)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    model = cs.FusionClassifier([("nb", GaussianNB()), ("logistic", LogisticRegression())], cv=3).fit(X, y)
    data = io.dumps(model)
    own = io.get_untrusted_types(data=data)
    assert all(name.startswith("consilience.") for name in own if name != "sklearn.utils._bunch.Bunch"), own
    same(io.loads(data, trusted=own), model, X)


def test_a_model_of_the_core_is_made_from_its_json(train):
    core = cs.BccFusion().fit(*train).model_
    make, arguments = core.__reduce__()
    assert make is _core.Model and arguments == (core.to_json(),)
    assert pickle.loads(pickle.dumps(core)).to_json() == core.to_json()
    with pytest.raises(cs.ConsilienceError, match="not a usable model"):
        _core.Model("{}")


@pytest.mark.filterwarnings("ignore")  # MLflow's own
@pytest.mark.parametrize("way", ["sklearn", "pyfunc"])
def test_mlflow_round_trip(way, train, test, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason=NEEDS)
    pytest.importorskip("skops.io", reason=NEEDS)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.create_experiment("test", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("test")
    frame = pd.DataFrame(train[0].reshape(len(train[1]), -1), columns=[f"{k}_{j}" for k in "ab" for j in "123"])
    later = pd.DataFrame(test[0].reshape(len(test[1]), -1), columns=frame.columns)
    model = cs.AutoFusion().fit(frame, train[1])
    with mlflow.start_run():
        logged = mlflow.sklearn.log_model(
            model, name="fusion", input_example=frame[:2], pyfunc_predict_fn="predict_proba",
            skops_trusted_types=trusted("consilience.estimators.AutoFusion"),
            pip_requirements=["scikit-learn"],
        )
    if way == "sklearn":
        same(mlflow.sklearn.load_model(logged.model_uri), model, later)
    else:
        found = mlflow.pyfunc.load_model(logged.model_uri).predict(later)
        assert (np.asarray(found) == model.predict_proba(later)).all()
