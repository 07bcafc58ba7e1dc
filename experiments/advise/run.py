"""Advice against random choice: which items to label next, and which sources to drop.

    python run.py labels|sources [--draws 20] [SET ...]

The sets are those of ../auto/labels.py, without items that lack an output.
"""

import argparse
import csv
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "auto"))
from common import cs, log_losses  # noqa: E402
from labels import SETS  # noqa: E402

POOL, TEST, BATCH, BATCHES, STARTS = 300, 800, 10, 5, (0, 10)
LABELLED = 300


def complete(name):
    P, y = SETS[name]()
    present = ~np.isnan(P).any((1, 2))
    return P[present], y[present]


def fitted(P, labels):
    labels = [None if label < 0 else int(label) for label in labels]
    return cs.AutoFusion(classes=list(range(P.shape[2]))).fit(P, labels)


def entropy(p):
    return -(p * np.log(np.maximum(p, 1e-300))).sum(1)


def next_items(strategy, model, P, labels, rng):
    """A batch of unlabelled items."""
    rest = np.flatnonzero(labels < 0)
    if strategy == "random":
        return rng.choice(rest, BATCH, replace=False)
    if strategy == "most uncertain":
        return rest[np.argsort(-entropy(model.predict_proba(P[rest])), kind="stable")[:BATCH]]
    known = [None if label < 0 else int(label) for label in labels]
    return [own.item for own in model.advise(P, known, labels=BATCH, sources=False).labels.next]


def curve(strategy, P, y, test, y_test, first, seed):
    """The log-loss on test items after every batch."""
    rng, labels, losses = np.random.default_rng([seed, 1]), np.full(len(y), -1), []
    labels[first] = y[first]
    for batch in range(BATCHES + 1):
        model = fitted(P, labels)
        losses.append(log_losses(model.predict_proba(test), y_test).mean())
        if batch < BATCHES:
            chosen = next_items(strategy, model, P, labels, rng)
            labels[chosen] = y[chosen]
    return losses


def measure_labels(names, draws):
    rows = []
    for name in names:
        P, y = complete(name)
        size = min(POOL, int(0.6 * len(y)))
        for start in STARTS:
            found = {strategy: [] for strategy in ("random", "most uncertain", "advise")}
            for seed in range(draws):
                order = np.random.default_rng([seed, 0]).permutation(len(y))
                pool, test = order[:size], order[size : size + TEST]
                for strategy, curves in found.items():
                    curves.append(curve(strategy, P[pool], y[pool], P[test], y[test], np.arange(start), seed))
            for strategy, curves in found.items():
                curves = np.array(curves)
                gains = (np.array(found["random"]) - curves)[:, 1:]
                for batch in range(BATCHES + 1):
                    rows.append([name, start, start + batch * BATCH, strategy, f"{curves[:, batch].mean():.4f}"])
                mean, se = gains.mean(), gains.mean(1).std(ddof=1) / draws**0.5
                print(f"{name:14} {start:3} {strategy:15} gain over random {mean:+.4f} ({se:.4f})", flush=True)
                rows.append([name, start, "gain over random", strategy, f"{mean:.4f} ({se:.4f})"])
    write("labels.csv", ["set", "first_labels", "labels", "strategy", "log_loss"], rows)


def loss_without(P, y, test, y_test, dropped):
    kept = [k for k in range(P.shape[1]) if k not in dropped]
    return log_losses(fitted(P[:, kept], y).predict_proba(test[:, kept]), y_test)


def measure_sources(names, draws):
    """Advice from 300 labelled items, checked on all others (at most 3000)."""
    rows = []
    for name in names:
        P, y = complete(name)
        K, size = P.shape[1], min(LABELLED, len(y) // 2)
        counts, advised, at_random, inside, worth, truth = [], [], [], [], [], []
        for seed in range(draws):
            rng = np.random.default_rng([seed, 2])
            order = rng.permutation(len(y))
            train, test = order[:size], order[size : size + 3000]
            data = P[train], y[train], P[test], y[test]
            advice = fitted(*data[:2]).advise(P[train], y[train].tolist(), labels=0).sources
            places = {f"c{k + 1}": k for k in range(K)}
            base = loss_without(*data, [])
            for own in advice.sources:
                change = loss_without(*data, [places[own.classifier]]) - base
                se = (own.worth.se**2 + change.var(ddof=1) / len(change)) ** 0.5
                inside.append(abs(own.worth.mean - change.mean()) <= 1.96 * se)
                worth.append(own.worth.mean)
                truth.append(change.mean())
            dropped = [] if advice.dropped is None else [places[own] for own in advice.dropped.classifiers]
            counts.append(len(dropped))
            if dropped:
                advised.append((loss_without(*data, dropped) - base).mean())
                random = rng.choice(K, len(dropped), replace=False).tolist()
                at_random.append((loss_without(*data, random) - base).mean())
        mean = lambda values: f"{np.mean(values):+.4f}" if values else ""
        largest = f"{max(advised):+.4f}" if advised else ""
        rows.append([name, K, f"{np.mean(counts):.1f}", mean(advised), largest, mean(at_random),
                     f"{np.mean(inside):.2f}", f"{np.corrcoef(worth, truth)[0, 1]:.2f}"])
        print(*rows[-1], flush=True)
    write("sources.csv", ["set", "sources", "dropped", "loss", "largest_loss", "loss_at_random", "coverage",
                          "correlation"], rows)


def write(name, header, rows):
    with open(HERE / name, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("part", choices=["labels", "sources"])
    arguments.add_argument("--draws", type=int, default=20)
    arguments.add_argument("sets", nargs="*")
    given = arguments.parse_intermixed_args()
    {"labels": measure_labels, "sources": measure_sources}[given.part](given.sets or list(SETS), given.draws)
