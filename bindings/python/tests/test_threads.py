"""Estimators that several threads use at the same time."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import consilience as cs


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_threads_get_the_results_of_one(train, kind):
    """Without a warning: the names of an Arrow table were once kept on the estimator."""
    P, y = train
    classes = np.unique(y)
    columns = {f"{k}_{c}": P[:, i, j] for i, k in enumerate("ab") for j, c in enumerate(classes)}
    X = P if kind == "array" else pytest.importorskip(kind).DataFrame(columns)
    model = cs.AutoFusion().fit(X, y)
    parts = [slice(7 * i % 150, 7 * i % 150 + 1 + i % 20) for i in range(400)]
    want = model.predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda part: model.predict_proba(X[part]), parts))
    for part, own in zip(parts, found, strict=True):
        assert np.allclose(own, want[part], rtol=0, atol=1e-12)


def test_threads_fit_their_own_estimators(train):
    P, y = train

    def fit(n):
        return cs.AutoFusion().fit(P[::n], y[::n]).predict_proba(P[:5])

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(fit, [1, 2, 3, 1, 2, 3]))
    for n, own in zip([1, 2, 3, 1, 2, 3], found, strict=True):
        assert (own == fit(n)).all()


@pytest.mark.parametrize("kind", ["array", "polars"])
def test_threads_fit_and_predict_at_the_same_time(train, kind):
    """Eight threads share one fitted estimator, while every other one also fits an estimator of its own."""
    P, y = train
    columns = {f"{k}_{c}": P[:, i, j] for i, k in enumerate("ab") for j, c in enumerate(np.unique(y))}
    X = P if kind == "array" else pytest.importorskip("polars").DataFrame(columns)
    shared = cs.AutoFusion().fit(X, y)

    def work(i):
        own = cs.AutoFusion().fit(X[:: 1 + i % 3], y[:: 1 + i % 3]) if i % 2 else shared
        return own.predict_proba(X[i : i + 30])

    want = [work(i) for i in range(48)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(work, range(48)))
    for own, expected in zip(found, want, strict=True):
        assert (own == expected).all()
