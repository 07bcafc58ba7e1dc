"""`predict_proba` of one row: an array, a data frame of pandas with a column of names beside the outputs, and one of
polars. Prints CPU seconds per call as JSON. `bench.py` runs it."""

import json
import statistics
import sys
import time

import pandas as pd
import polars as pl

import consilience as cs

CALLS, ROUNDS = 300, 9


def seconds(work):
    def once():
        start = time.process_time()
        for _ in range(CALLS):
            work()
        return (time.process_time() - start) / CALLS

    once()
    return statistics.median(once() for _ in range(ROUNDS))


def main():
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=200, random_state=1)
    names = [f"c{k}_{c}" for k in (1, 2) for c in sorted(set(y))]
    one = pd.DataFrame(P[:1].reshape(1, -1), columns=names)
    one.insert(0, "id", "first")
    forms = {"array": P[:1], "pandas": one, "polars": pl.DataFrame(one.to_dict("list"))}
    found = {}
    for name, model in [("independent", cs.IndependentFusion(inference="map")), ("auto", cs.AutoFusion())]:
        fitted = model.fit(P, y)
        for form, X in forms.items():
            found[f"{name} {form}"] = seconds(lambda: fitted.predict_proba(X))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
