"""Writes votes.json: small tables of votes and what the methods for votes make of them.

Every formula of docs/methods/votes.md is written out with dense lists: full covariance matrices, full confusion
matrices, no shared code with the library. Digamma is mpmath's.
"""

import json
import math
import sys
from pathlib import Path

import mpmath as mp

DIGITS = 12
GRID = [math.exp(math.log(0.05) + m * math.log(6.0 / 0.05) / 12) for m in range(13)]
SHARED = {}


def digamma(x):
    """Digamma of a positive number, remembered."""
    if x not in SHARED:
        SHARED[x] = float(mp.digamma(x))
    return SHARED[x]


def softmax(row):
    top = max(row)
    weights = [math.exp(v - top) for v in row]
    total = sum(weights)
    return [w / total for w in weights]


def sigma(x):
    return 1 / (1 + math.exp(-x))


def ln_sigma(x):
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


def inverse(matrix):
    """Gauss and Jordan with pivots."""
    n = len(matrix)
    rows = [list(row) + [float(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for c in range(n):
        pivot = max(range(c, n), key=lambda r: abs(rows[r][c]))
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [v / rows[c][c] for v in rows[c]]
        for r in range(n):
            if r != c:
                factor = rows[r][c]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[c])]
    return [row[n:] for row in rows]


def ln_determinant(matrix):
    rows, total = [list(row) for row in matrix], 0.0
    for c in range(len(rows)):
        total += math.log(rows[c][c])
        for r in range(c + 1, len(rows)):
            factor = rows[r][c] / rows[c][c]
            rows[r] = [v - factor * w for v, w in zip(rows[r], rows[c])]
    return total


class Table:
    def __init__(self, n, w, k, votes, gold):
        self.n, self.w, self.k, self.votes, self.gold = n, w, k, votes, gold
        self.on = [[v for v in votes if v[0] == i] for i in range(n)]
        self.size = [len(on) for on in self.on]

    def clamp(self, q, gold):
        for item, label in gold.items():
            q[item] = [float(j == label) for j in range(self.k)]
        return q

    def start(self, smoothing, gold):
        spread = [1.0 + sum(v[2] == j for v in self.votes) for j in range(self.k)]
        spread = [s / sum(spread) for s in spread]
        rows = []
        for on in self.on:
            row = [smoothing * s + sum(v[2] == j for v in on) for j, s in enumerate(spread)]
            rows.append([v / sum(row) for v in row])
        return self.clamp(rows, gold)

    def counts(self, q):
        """n[w][state][label]."""
        n = [[[0.0] * self.k for _ in q[0]] for _ in range(self.w)]
        for i, w, l in self.votes:
            for j, p in enumerate(q[i]):
                n[w][j][l] += p
        return n

    def scores(self, ln_prior, weight):
        """weight(w, label, state, item)."""
        states = range(len(ln_prior))
        return [[ln_prior[j] + sum(weight(w, l, j, i) for i, w, l in on) for j in states] for on in self.on]


# --- the default ---------------------------------------------------------------------------------


def newton(x, c, g, mu, a, b, steps):
    k = len(x)
    lam = [[((i == j) - b / (a + k * b)) / a for j in range(k)] for i in range(k)]
    hessian = lambda x: [
        [lam[i][j] + (i == j) * g[j] * sigma(x[j]) * (1 - sigma(x[j])) for j in range(k)] for i in range(k)
    ]
    for _ in range(steps):
        slope = [
            c[j] - g[j] * sigma(x[j]) - sum(lam[j][i] * (x[i] - mu[i]) for i in range(k)) for j in range(k)
        ]
        inv = inverse(hessian(x))
        x = [x[j] + max(-2.0, min(2.0, sum(inv[j][i] * slope[i] for i in range(k)))) for j in range(k)]
    return x, inverse(hessian(x))


def hyper(xs, cs):
    w, k = len(xs), len(xs[0])
    mu = [(sum(x[j] for x in xs) + 2 * 1.1) / (w + 2) for j in range(k)]
    s = [
        [sum((x[i] - mu[i]) * (x[j] - mu[j]) + c[i][j] for x, c in zip(xs, cs)) for j in range(k)]
        for i in range(k)
    ]
    trace = sum(s[j][j] for j in range(k))
    diagonal = (trace / k + 2) / (w + 2)
    off = ((sum(map(sum, s)) - trace) / (k * (k - 1)) + 1) / (w + 2)
    a = max(diagonal - off, 0.02)
    return mu, a, max(off, -0.9 * a / k)


def minka(rows, concentration, imagined):
    """Two steps for rows of counts; two imagined sources."""
    a = list(concentration)
    for _ in range(2):
        total = sum(a)
        num = [sum(digamma(r[l] + a[l]) - digamma(a[l]) for r in rows) for l in range(len(a))]
        num = [v + 2 * (digamma(imagined + a[l]) - digamma(a[l])) for l, v in enumerate(num)]
        den = sum(digamma(sum(r) + total) - digamma(total) for r in rows)
        den += 2 * (digamma(imagined * len(a) + total) - digamma(total))
        a = [max(v * n / den, 1e-3) for v, n in zip(a, num)]
        if sum(a) > 1e3:
            a = [v * 1e3 / sum(a) for v in a]
    return a


def independent_fit(t, gold):
    k = t.k
    q = t.start(1.0, gold)
    mu, a, b = [1.1] * k, 0.5, 0.5
    xs = [[1.1] * k for _ in range(t.w)]
    conc = [[k / (k - 1) for l in range(k) if l != j] for j in range(k)]
    for it in range(20):
        n = t.counts(q)
        c = [[n[w][j][j] for j in range(k)] for w in range(t.w)]
        g = [[sum(n[w][j]) for j in range(k)] for w in range(t.w)]
        fits = [newton(xs[w], c[w], g[w], mu, a, b, 2 if it else 6) for w in range(t.w)]
        xs, cs = [f[0] for f in fits], [f[1] for f in fits]
        mu, a, b = hyper(xs, cs)
        wrong = [[[n[w][j][l] for l in range(k) if l != j] for j in range(k)] for w in range(t.w)]
        if k > 2:
            conc = [minka([wrong[w][j] for w in range(t.w)], conc[j], 2 / (k - 1)) for j in range(k)]

        def weight(w, l, j, _):
            y = xs[w][j] / math.sqrt(1 + math.pi * cs[w][j][j] / 8)
            if l == j:
                return ln_sigma(y)
            place = l if l < j else l - 1
            share = (wrong[w][j][place] + conc[j][place]) / (sum(wrong[w][j]) + sum(conc[j])) if k > 2 else 1.0
            return ln_sigma(-y) + math.log(share)

        prior = [sum(row[j] for row in q) + 1 for j in range(k)]
        f = t.scores([math.log(p / sum(prior)) for p in prior], weight)
        new = t.clamp([softmax(row) for row in f], gold)
        change = max(abs(x - y) for r, s in zip(new, q) for x, y in zip(r, s))
        q = new
        if change < 2e-3 and it > 6:
            break
    return dict(f=f, x=xs, mu=mu, a=a, b=b, passes=it + 1)


def discounted(row, n, rho, bias):
    return softmax([v / (1 + max(n - 1, 0) * rho) + b for v, b in zip(row, bias)])


def learn_bias(f, n, labels, rho):
    k = len(f[0])
    beta = [0.0] * k
    for _ in range(60):
        p = [discounted(row, m, rho, beta) for row, m in zip(f, n)]
        slope = [sum((t == j) - r[j] for r, t in zip(p, labels)) - 4 * beta[j] for j in range(k)]
        h = [
            [sum((i == j) * r[j] - r[i] * r[j] for r in p) + 4 * (i == j) for j in range(k)] for i in range(k)
        ]
        inv = inverse(h)
        step = [sum(inv[j][i] * slope[i] for i in range(k)) for j in range(k)]
        beta = [v + max(-2.0, min(2.0, s)) for v, s in zip(beta, step)]
        if max(map(abs, step)) < 1e-13:
            break
    evidence = sum(math.log(r[t]) for r, t in zip((discounted(*a, rho, beta) for a in zip(f, n)), labels))
    evidence -= 2 * sum(v * v for v in beta)
    return evidence - 0.5 * ln_determinant([[v / 4 for v in row] for row in h]), beta


def auto(t):
    k = t.k
    ln_w = [-0.5 * ((math.log(r) - math.log(0.42)) / 0.7) ** 2 for r in GRID]
    bias = [[0.0] * k for _ in GRID]
    if t.gold:
        items = list(t.gold)
        held = [independent_fit(t, {i: g for i, g in t.gold.items() if i != item})["f"][item] for item in items]
        learned = [learn_bias(held, [t.size[i] for i in items], [t.gold[i] for i in items], r) for r in GRID]
        ln_w, bias = [w + e for w, (e, _) in zip(ln_w, learned)], [b for _, b in learned]
    weights = softmax(ln_w)
    fit = independent_fit(t, t.gold)
    parts = [
        t.clamp([discounted(row, n, rho, b) for row, n in zip(fit["f"], t.size)], t.gold)
        for rho, b in zip(GRID, bias)
    ]
    p = [[sum(w * part[i][j] for w, part in zip(weights, parts)) for j in range(k)] for i in range(t.n)]
    kept = [m for m, w in enumerate(weights) if w >= 0.01]
    total = sum(weights[m] for m in kept)
    first = [[0.0] * k for _ in range(t.w)]
    each = []
    for m in kept:
        n = t.counts(parts[m])
        xs, mu, a, b = fit["x"], fit["mu"], fit["a"], fit["b"]
        c = [[n[w][j][j] for j in range(k)] for w in range(t.w)]
        g = [[sum(n[w][j]) for j in range(k)] for w in range(t.w)]
        for _ in range(3):
            fits = [newton(xs[w], c[w], g[w], mu, a, b, 4) for w in range(t.w)]
            xs, cs = [f[0] for f in fits], [f[1] for f in fits]
            mu, a, b = hyper(xs, cs)
        unsure = [[0.0] * k for _ in range(t.w)]
        for i, w, _ in t.votes:
            for j in range(k):
                unsure[w][j] += parts[m][i][j] * (1 - parts[m][i][j])
        variance = [[cs[w][j][j] + 0.25 * cs[w][j][j] ** 2 * unsure[w][j] for j in range(k)] for w in range(t.w)]
        each.append((weights[m] / total, xs, variance))
    mean = [[sum(w * xs[s][j] for w, xs, _ in each) for j in range(k)] for s in range(t.w)]
    sd = [
        [math.sqrt(sum(w * (v[s][j] + (xs[s][j] - mean[s][j]) ** 2) for w, xs, v in each)) for j in range(k)]
        for s in range(t.w)
    ]
    rho = math.exp(sum(w * math.log(r) for w, r in zip(weights, GRID)))
    return dict(p=p, rho=rho, x=mean, sd=sd, passes=fit["passes"])


# --- the named family ----------------------------------------------------------------------------


def dirichlet_rows(k):
    return [[4.0 if l == j else 1.0 for l in range(k)] for j in range(k)]


def bcc(t, mode):
    k, prior = t.k, dirichlet_rows(t.k)
    q = t.start(1.0, t.gold)
    likelihood = -math.inf
    for it in range(200):
        n = t.counts(q)
        nk = [sum(row[j] for row in q) + 1 for j in range(k)]
        if mode == "dawid-skene":
            ln_p = [math.log(v / sum(nk)) for v in nk]
            weight = lambda w, l, j, i: math.log((n[w][j][l] + 0.01 / k) / (sum(n[w][j]) + 0.01))
            f = t.scores(ln_p, weight)
        elif mode == "vb":
            ln_p = [digamma(v) - digamma(sum(nk)) for v in nk]
            weight = lambda w, l, j, i: digamma(n[w][j][l] + prior[j][l]) - digamma(sum(n[w][j]) + sum(prior[j]))
            f = t.scores(ln_p, weight)
        elif mode == "cvb":
            weight = lambda w, l, j, i: math.log(
                (max(n[w][j][l] - q[i][j], 0) + prior[j][l]) / (max(sum(n[w][j]) - q[i][j], 0) + sum(prior[j]))
            )
            f = t.scores([0.0] * k, weight)
            f = [[v + math.log(max(nk[j] - q[i][j], 1e-9)) for j, v in enumerate(row)] for i, row in enumerate(f)]
        else:
            ln_p = [math.log(v / sum(nk)) for v in nk]
            rows = [effective_rows(n[w], prior) for w in range(t.w)]
            f = t.scores(ln_p, lambda w, l, j, i: math.log(rows[w][j][l]))
        new = t.clamp([softmax(row) for row in f], t.gold)
        change = max(abs(x - y) for r, s in zip(new, q) for x, y in zip(r, s))
        q = new
        before, likelihood = likelihood, sum(ln_likelihood(row, t.gold.get(i)) for i, row in enumerate(f)) / t.n
        ended = abs(likelihood - before) < 1e-6 if mode == "dawid-skene" else change < 1e-4
        if ended and it > 5:
            break
    return dict(p=q, passes=it + 1)


def ln_likelihood(scores, label):
    """Of the votes on an item, together with its class if that is known."""
    if label is not None:
        return scores[label]
    return max(scores) + math.log(sum(math.exp(v - max(scores)) for v in scores))


def dirichlet_multinomial(counts, a):
    total = math.lgamma(sum(a)) - math.lgamma(sum(a) + sum(counts))
    return total + sum(math.lgamma(n + v) - math.lgamma(v) for n, v in zip(counts, a))


def effective_rows(n, prior):
    """P(label | class) of one source under Ueda's model, two rounds of responsibilities."""
    k = len(n)
    r = [0.5] * k
    for _ in range(2):
        odds = []
        for j in range(k):
            rest = [1 + sum((1 - r[i]) * n[i][l] for i in range(k) if i != j) for l in range(k)]
            odds.append(dirichlet_multinomial(n[j], prior[j]) - dirichlet_multinomial(n[j], rest))
        r = [1 / (1 + math.exp(-o)) for o in odds]
    free = [1 + sum((1 - r[i]) * n[i][l] for i in range(k)) for l in range(k)]
    own = lambda j, l: (n[j][l] + prior[j][l]) / (sum(n[j]) + sum(prior[j]))
    return [[r[j] * own(j, l) + (1 - r[j]) * free[l] / sum(free) for l in range(k)] for j in range(k)]


def ebcc(t, subtypes):
    """Variational passes from a fixed start: the subtypes of an item's class differ by a pattern."""
    k, m = t.k, subtypes
    pattern = lambda i, s: 1 + (7 * i + 3 * s) % 11
    z = []
    for i, row in enumerate(t.start(1e-9, t.gold)):
        marks = [[pattern(i, j * m + a) for a in range(m)] for j in range(k)]
        z.append([row[j] * marks[j][a] / sum(marks[j]) for j in range(k) for a in range(m)])
    start = [list(row) for row in z]
    prior = dirichlet_rows(k)
    for it in range(200):
        n = t.counts(z)
        states = [sum(row[s] for row in z) for s in range(k * m)]
        nu = [1 + sum(states[j * m : (j + 1) * m]) for j in range(k)]
        eta = [0.1 / m + v for v in states]
        ln_p = [
            digamma(nu[s // m]) - digamma(sum(nu)) + digamma(eta[s]) - digamma(sum(eta[s // m * m : (s // m + 1) * m]))
            for s in range(k * m)
        ]
        weight = lambda w, l, s, i: digamma(n[w][s][l] + prior[s // m][l]) - digamma(sum(n[w][s]) + sum(prior[0]))
        f = t.scores(ln_p, weight)
        new = []
        for i, row in enumerate(f):
            if i in t.gold:
                own = range(t.gold[i] * m, (t.gold[i] + 1) * m)
                inside = softmax([row[s] for s in own])
                new.append([inside[s - own[0]] if s in own else 0.0 for s in range(k * m)])
            else:
                new.append(softmax(row))
        by_class = lambda rows: [[sum(row[j * m : (j + 1) * m]) for j in range(k)] for row in rows]
        change = max(abs(x - y) for r, s in zip(by_class(new), by_class(z)) for x, y in zip(r, s))
        z = new
        if change < 1e-3:
            break
    return dict(start=start, p=by_class(z), passes=it + 1)


def regression(t, spread):
    """Penalised multinomial regression on one-hot votes of all gold items, by Newton's method."""
    k = t.k
    cells = sorted({(w, l) for i, w, l in t.votes if i in t.gold})
    place = {cell: (c + 1) * k for c, cell in enumerate(cells)}
    size = (len(cells) + 1) * k
    precision = [1 / 4.0 if p < k else 1 / spread**2 for p in range(size)]
    theta = [0.0] * size
    for _ in range(30):
        slope = [-v * c for v, c in zip(theta, precision)]
        h = [[precision[a] * (a == b) for b in range(size)] for a in range(size)]
        for item, label in t.gold.items():
            starts = [0] + [place[(w, l)] for _, w, l in t.on[item]]
            p = softmax([sum(theta[s + j] for s in starts) for j in range(k)])
            for s in starts:
                for j in range(k):
                    slope[s + j] += (j == label) - p[j]
                    for u in starts:
                        for i in range(k):
                            h[s + j][u + i] += (i == j) * p[j] - p[i] * p[j]
        inv = inverse(h)
        step = [sum(a * b for a, b in zip(row, slope)) for row in inv]
        theta = [v + s for v, s in zip(theta, step)]
        if max(map(abs, step)) < 1e-12:
            break
    known = lambda i: [0] + [place[(w, l)] for _, w, l in t.on[i] if (w, l) in place]
    p = [softmax([sum(theta[s + j] for s in known(i)) for j in range(k)]) for i in range(t.n)]
    return dict(spread=spread, p=p)


# --- the tables ----------------------------------------------------------------------------------


def make(n, w, k, seed, n_gold):
    """Sources of different quality that vote on two thirds of the items."""
    state = seed

    def draw():
        nonlocal state
        state = (1103515245 * state + 12345) % 2**31
        return (state >> 8) % 10007 / 10007

    truth = [int(draw() * k) for _ in range(n)]
    skill = [0.45 + 0.5 * draw() for _ in range(w)]
    votes = []
    for i in range(n):
        for s in range(w):
            if draw() < 2 / 3:
                other = (truth[i] + 1 + int(draw() * (k - 1))) % k
                votes.append((i, s, truth[i] if draw() < skill[s] else other))
    return Table(n, w, k, votes, {i: truth[i] for i in range(0, n, n // n_gold)} if n_gold else {})


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return {k: rounded(v) for k, v in value.items()} if isinstance(value, dict) else value


def case(n, w, k, seed, n_gold):
    t = make(n, w, k, seed, n_gold)
    expected = {"auto": auto(t)}
    for mode in ("dawid-skene", "vb", "cvb", "ueda"):
        expected[mode] = bcc(t, mode)
    expected["ebcc"] = ebcc(t, 2)
    if n_gold:
        expected["regression"] = regression(t, 0.4)
    gold = [[i, label] for i, label in t.gold.items()]
    return dict(items=n, sources=w, classes=k, votes=t.votes, gold=gold, expected=rounded(expected))


def main(path):
    cases = [case(24, 7, 2, 1, 0), case(30, 8, 3, 2, 0), case(30, 8, 3, 3, 5), case(18, 6, 4, 4, 3)]
    path.write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("votes.json"))
