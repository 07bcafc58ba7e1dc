"""Parts of docstrings that all fusion estimators share."""

from __future__ import annotations

import inspect
import textwrap

PARAMETERS = """\
class_prior : {"empirical", "uniform", "estimate"} or array-like of shape (n_classes,), default="empirical"
    Class probabilities before any output is seen. "empirical": the frequencies of the labels, or,
    without labels, the mean output. "estimate": the class shares of the items without a label,
    estimated from their fused probabilities. Methods such as `predict_proba` accept another class
    prior without refitting.
values : {"probabilities", "log-probabilities", "logits", "odds", "odds-power", "odds-shin"}, default="probabilities"
    The kind of numbers in X. "odds" are decimal odds, whose margin is removed in proportion;
    "odds-power" and "odds-shin" take more of it from long shots.
floor : float, default=1e-6
    Smaller probabilities are raised to this value, and the output is normalised.
sum_tolerance : float, default=0.02
    Outputs whose sum differs from 1 by at most this much are normalised; others are an error.
layout : {"wide", "positive"}, default="wide"
    "wide": one column per classifier and class. "positive": two classes, and one column per
    classifier, its value for the class `pos_label`; of a data frame, the columns in `classifiers`, or
    all but `label`. `BccFusion` also has "labels": one column per classifier, its label; missing
    labels are missing outputs.
pos_label : object, default=None
    The class whose values the columns are with `layout="positive"`. If None, the second class (of
    `classes`, or in sorted order).
n_classifiers : int, default=None
    Number of classifiers in a two-dimensional array. If None, the number of columns divided by the
    number of classes.
classifiers : list of str, default=None
    Names of the classifiers. If None, the names in the header of a data frame, or "c1", "c2", ...
classes : list, default=None
    All classes, in the order of the columns of X. If None, the sorted labels; if the labels do not
    cover the columns and some items have no label, the classes in the header of a data frame, or 0,
    1, ... for an array.
random_state : int, RandomState instance or None, default=None
    Seed of the random numbers. None is the same as 0, so that equal input gives equal results.
progress : callable, "tqdm" or None, default=None
    Progress of long computations: a function that is called with (task, done, total), or "tqdm" for
    progress bars."""

ATTRIBUTES = """\
classes_ : ndarray of shape (n_classes,)
    The classes.
classifiers_ : ndarray of shape (n_classifiers,)
    The names of the classifiers.
n_features_in_ : int
    Number of columns of X.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the columns of X. Only defined if X is a data frame.
diagnostics_ : dict
    Convergence diagnostics and warnings of the fit."""

SHARES = """\
n_effective_ : float
    Effective number of independent classifiers.
shares_ : ndarray of shape (n_classifiers,)
    Independent share of each classifier's evidence. Copies divide the share of their group equally.
copies_ : list of lists of str
    Classifiers with nearly the same evidence, by group.
evidence_correlation_ : ndarray of shape (n_classifiers, n_classifiers)
    Correlations of the classifiers' evidence.
intervals_ : dict
    90 % intervals: `n_effective`, `shares`, `influences` (where there are `influences_`),
    `evidence_correlation`, and `n_effective_independent`, the range of the effective number that
    independent classifiers would show on as many items."""

DIRICHLETS = """\
alpha_ : ndarray of shape (n_classifiers, n_classes, n_classes)
    Concentrations of the Dirichlet distributions; `alpha_[k, j]` belongs to classifier k and true
    class j.
strengths_ : ndarray of shape (n_classifiers,)
    Expected evidence of one output of each classifier, in nats."""

INFLUENCES = """\
influences_ : ndarray of shape (n_classifiers,)
    Strength times independent share of each classifier, in nats."""

ALPHA = """\
alpha_prior : {"pooled", "paper"}, default="pooled"
    Prior of the concentrations. "pooled": the conjugate prior with the mean log output of the
    classifier over all classes. "paper": the vague gamma prior of the paper.
prior_items : float, default=2.0
    Weight of the pooled prior, in items."""

CHAINS = """\
chains : int, default=4
    Number of Markov chains.
draws : int, default=1000
    Number of draws per chain.
warmup : int, default=100
    Number of draws discarded at the start of each chain.
keep_draws : int, default=0
    Number of posterior draws stored in the model, for `predictive=True` and `to_arviz`."""

PARTS = {
    "{parameters}": PARAMETERS, "{attributes}": ATTRIBUTES, "{alpha}": ALPHA, "{chains}": CHAINS,
    "{dirichlets}": DIRICHLETS, "{shares}": SHARES, "{influences}": INFLUENCES,
}


def filled(docstring: str | None) -> str | None:
    """A docstring in which every line that is the name of a part is replaced by that part."""
    if docstring is None:  # python -OO
        return None
    lines = inspect.cleandoc(docstring).split("\n")
    text = "\n".join(PARTS.get(line, line) for line in lines)
    return textwrap.indent(text, "    ").strip() + "\n"
