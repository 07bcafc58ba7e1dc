"""Writes density_resolution_stress.csv: pair densities at a finite resolution, straight from the definition.

With M the smaller of a component's two gammas and t the difference of their logarithms, h(M, t) is the density of
both; the resolution convolves it with N(0, e^2) in t, M held fixed, and the density of an item is

    f = int int exp(J y + 2 J z) prod_l h_e(M_l, t_l) / (M_l exp|t_l|) dy dz,
    M_l = exp(z) min(exp(y) x1_l, x2_l),   t_l = y - ln(x2_l / x1_l).

Nothing is tabulated or interpolated: at every (y, z) the convolution is a sum over t, and at every t the common part
is integrated out. Inner integrals and convolutions are trapezoid sums over whole lines (logit of the common share;
t = w ln(1 + exp(theta)) on either side of 0) whose last nodes stand for the powers beyond them; z is a trapezoid sum;
y is integrated by Gauss-Legendre panels that start at every kink with the width of the resolution and are halved
until halving changes nothing. Every value is computed at two resolutions of all of these; their difference is its error.

    OMP_NUM_THREADS=1 python reference/make_density_resolution.py [OUTPUT]      five to ten minutes
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln, roots_legendre

SEED = 9
FINE, COARSE = (10, 0.6, 1.3, 1e-9), (9, 0.66, 1.45, 3e-9)
DEEP = 1e-17
# panels beside a kink in units of the resolution, and how they grow
FIRST, GROWTH = 3.0, 2.5


def logistic_nodes(low, high, step):
    """v, 1-v and their logarithms at equidistant logits."""
    z = np.arange(low, high + step, step)
    ln_v, ln_q = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    return np.exp(ln_v), np.exp(ln_q), ln_v, ln_q


class Component:
    """h_e(M, t) of one component."""

    def __init__(self, delta, a1, a2, epsilon, rough):
        self.delta, self.private, self.epsilon, self.rough = delta, (a1, a2), epsilon, rough
        self.rigid = a1 == 0 and a2 == 0
        if self.rigid:
            return
        self.typical = delta + min(a1, a2) + 0.5
        n = delta + a1 + a2
        self.lattice = self.typical * np.exp(np.arange(-200, 5, 1.0))
        self.width = min(epsilon, 1 / (1 + n))
        # where h is steep, its neighbourhood counts more than the spot itself
        self.around = (12 + 1.5 * epsilon * n) * epsilon
        self.near = 3 + self.around
        theta = np.arange(np.log(1e-10), (self.near + self.around) / self.width, rough[1])
        t = self.width * np.logaddexp(0, theta)
        ln_w = np.log(rough[1] * self.width) - np.logaddexp(0, -theta)
        self.tables = [Rows(self, side, t, ln_w) for side in (-1, 1) if self.far(side) > 0]

    def far(self, side):
        """The private shape of the larger gamma."""
        return self.private[0] if side > 0 else self.private[1]

    def ln_ratio(self, t0, ln_masses):
        """ln h_e(M, t0) - ln M - |t0| for all M."""
        masses = np.exp(ln_masses)
        n = self.delta + sum(self.private)
        ln_scale = np.log(self.epsilon * np.sqrt(2 * np.pi))
        if self.rigid:
            gamma = (n - 1) * ln_masses - masses - gammaln(self.delta)
            return gamma - 0.5 * (t0 / self.epsilon) ** 2 - ln_scale - ln_masses - abs(t0)
        if abs(t0) < self.near or self.far(np.sign(t0)) == 0:
            tables = self.tables
        else:
            step = self.rough[1] * self.width
            t = np.arange(abs(t0) - self.around, abs(t0) + self.around, step)
            tables = [Rows(self, np.sign(t0), t, np.full(len(t), np.log(step)))]
        exponents = np.concatenate([table.exponents(t0, masses) for table in tables])
        top = exponents.max(axis=0)
        total = np.log(np.exp(exponents - top).sum(axis=0)) + top
        return total - ln_scale + (n - 1) * ln_masses - masses - ln_masses - abs(t0)


class Rows:
    """Inner integrals at many distances t from the kink, on one side of it."""

    def __init__(self, component, side, t, ln_w):
        self.component, self.side, self.t, self.ln_w = component, side, t, ln_w
        self.far = component.far(side)
        self.near = component.private[1] if side > 0 else component.private[0]
        self.grown = np.exp(t)
        ln_a, self.v = self.integrands()
        self.top = ln_a.max(axis=1)
        self.matrix = np.exp(ln_a - self.top[:, None])
        self.pivot = float(np.mean((self.matrix @ self.v) / self.matrix.sum(axis=1)))
        # a coarse table over M, only to tell which rows matter
        lattice = component.lattice
        self.sizes = self.ln_inner(slice(None), lattice) - lattice * self.grown[:, None]

    def integrands(self):
        """ln of the inner integrand at every (t, v), with the weights of its sum and M = typical."""
        delta, near, far, mass = self.component.delta, self.near, self.far, self.component.typical
        c, constant = np.expm1(self.t), -gammaln(self.far)
        if delta == 0:
            return ((far - 1) * self.t + constant - gammaln(near))[:, None], np.array([0.0])
        if near == 0:
            return ((far - 1) * np.log(c) + mass + constant - gammaln(delta))[:, None], np.array([1.0])
        n = delta + near + far
        step = self.component.rough[2] * min(0.5, 0.8 / np.sqrt(0.25 * (n + mass)))
        low = np.log(DEEP / (1 + n + 10 * mass))
        v, q, ln_v, ln_q = logistic_nodes(low, -low - min(0.0, np.log(c[0])), step)
        ln_a = delta * ln_v + near * ln_q + (far - 1) * np.log(c[:, None] + q) + mass * v
        ln_a += np.log(step) + constant - gammaln(delta) - gammaln(near)
        # beyond the ends the terms are powers of v and of q: geometric series
        ln_a[:, 0] -= np.log(-np.expm1(-delta * step))
        ln_a[:, -1] -= np.log(-np.expm1(-near * step))
        keep = np.zeros(len(v), bool)
        for factor in (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 10.0):
            tilted = ln_a[:: max(1, len(c) // 60)] + (factor - 1) * mass * v
            keep |= (tilted - tilted.max(axis=1, keepdims=True) > -50).any(axis=0)
        return ln_a[:, keep], v[keep]

    def ln_inner(self, which, masses):
        """ln of the inner integrals with exp(M v), at some t and all M."""
        more = masses - self.component.typical
        powers = np.exp(np.minimum(more[None, :] * (self.v - self.pivot)[:, None], 600))
        with np.errstate(divide="ignore"):
            return np.log(self.matrix[which] @ powers) + self.top[which][:, None] + more * self.pivot

    def exponents(self, t0, masses):
        """ln of the convolution's terms."""
        c = self.component
        common = self.ln_w - 0.5 * ((t0 - self.side * self.t) / c.epsilon) ** 2 + self.t
        low, high = np.searchsorted(c.lattice, [masses[0], masses[-1]])
        size = common[:, None] + self.sizes[:, max(low - 1, 0) : high + 1]
        which = np.flatnonzero((size > size.max(axis=0) - 45).any(axis=1))
        which = slice(which[0], which[-1] + 1)
        terms = self.ln_inner(which, masses) - masses * self.grown[which][:, None] + common[which][:, None]
        if which.start == 0 and self.t[0] < 1e-9:
            self.close(terms)
        return terms

    def close(self, terms):
        """Adds to the node next to the kink what lies between: C0 t + C1 t^(a1+a2), from the first two."""
        step, power = self.component.rough[1], self.near + self.far
        if self.component.delta == 0 or self.near == 0:
            power = 1.0 if self.component.delta == 0 else self.far
            terms[0] -= np.log(-np.expm1(-power * step))
            return
        power += 1e-6 * (abs(power - 1) < 1e-6)
        first, second = np.exp(-step), np.exp(-power * step)
        scale = terms[:2].max(axis=0)
        inner, next_one = np.exp(terms[:2] - scale)
        b = (next_one - inner / first) / (1 / second - 1 / first)
        terms[0] = np.log((inner - b) / (1 - first) + b / (1 - second)) + scale


class Item:
    def __init__(self, x1, x2, alpha1, alpha2, delta, epsilon, rough):
        self.x1, self.x2, self.rough, self.epsilon = x1, x2, rough, epsilon
        self.nodes, self.weights = roots_legendre(rough[0])
        a1, a2 = alpha1 - delta, alpha2 - delta
        self.power = float(np.sum(delta + a1 + a2))
        # far out the integrand falls like exp(-A |y|)
        self.widest = max(1.0, 2 / min(alpha1.sum(), alpha2.sum()))
        self.kinks = np.log(x2 / x1)
        shapes = zip(delta, a1, a2)
        self.components = [Component(*shape, epsilon, rough) for shape in shapes]

    def line(self, y):
        """ln of the integral over z."""
        n = self.power
        deepest = np.log(DEEP) - np.logaddexp(0, y)
        below = max(np.log(n) - np.logaddexp(0, y) - 34 / n - np.sqrt(68 / n) - 0.5, deepest)
        above = np.log(n) - max(0.0, y) + min(np.sqrt(68 / n), np.log1p(68 / n) + 1) + 0.3
        step = self.rough[2] * min(0.22, 0.45 / np.sqrt(n))
        for _ in range(20):
            z = np.arange(below, above, step)
            total = len(self.x1) * (y + 2 * z)
            for l, component in enumerate(self.components):
                smaller = min(y + np.log(self.x1[l]), np.log(self.x2[l]))
                total = total + component.ln_ratio(y - self.kinks[l], z + smaller)
            if below == deepest:
                # from here down the terms are s^N and nothing else: a geometric series
                total[0] -= np.log(-np.expm1(-n * step))
            top = total.max()
            if (below == deepest or total[0] < top - 28) and total[-1] < top - 28:
                return np.log(np.exp(total - top).sum() * step) + top
            below = max(below - 1.0 * (total[0] > top - 28), deepest)
            above += 2.0 * (total[-1] > top - 28)
        raise ArithmeticError("the integrand in z does not end")

    def panel(self, a, b):
        values = np.array([self.line(0.5 * (a + b) + 0.5 * (b - a) * x) for x in self.nodes])
        top = values.max()
        return np.log(np.sum(self.weights * np.exp(values - top)) * 0.5 * (b - a)) + top

    def ln_density(self):
        kinks = np.unique(self.kinks)
        edges = []
        for a, b in zip(kinks[:-1], kinks[1:]):
            edges += graded(a, b, FIRST * self.epsilon)
        done = [self.panel(*e) for e in edges]
        total = logsum(done) if done else -np.inf
        for start, sign in ((kinks[-1], 1), (kinks[0], -1)):
            at, width = start, FIRST * self.epsilon
            for _ in range(60):
                e = (at, at + sign * width) if sign > 0 else (at + sign * width, at)
                value = self.panel(*e)
                edges.append(e)
                done.append(value)
                total = np.logaddexp(total, value)
                at, width = at + sign * width, min(GROWTH * width, self.widest)
                if value < total - 40:
                    break
        return self.halve(edges, done)

    def halve(self, edges, done):
        """Halves panels until that changes nothing."""
        result = []
        while edges:
            total = logsum(done + result)
            next_edges, next_done = [], []
            for (a, b), value in zip(edges, done):
                if value < total - 32:
                    result.append(value)
                    continue
                m = 0.5 * (a + b)
                halves = [self.panel(a, m), self.panel(m, b)]
                if abs(np.exp(logsum(halves) - total) - np.exp(value - total)) < self.rough[3]:
                    result += halves
                else:
                    next_edges += [(a, m), (m, b)]
                    next_done += halves
            edges, done = next_edges, next_done
        return logsum(result)


def logsum(values):
    top = max(values)
    return np.log(sum(np.exp(v - top) for v in values)) + top


def graded(a, b, width):
    """Panels from a to b that begin at both ends with this width and grow towards the middle."""
    left, right = [a], [b]
    while right[-1] - left[-1] > 2.5 * width:
        left.append(left[-1] + width)
        right.append(right[-1] - width)
        width = min(GROWTH * width, 1.0)
    points = left + right[::-1]
    return list(zip(points[:-1], points[1:]))


def value(x1, x2, alpha1, alpha2, delta, epsilon):
    """ln f and its error."""
    fine, coarse = (Item(x1, x2, alpha1, alpha2, delta, epsilon, r).ln_density() for r in (FINE, COARSE))
    return fine, abs(fine - coarse)


def gamma(rng, shape):
    """Gamma variates, also of tiny shapes and of 0."""
    safe = np.where(shape > 0, shape, 1.0)
    return np.where(shape > 0, rng.gamma(safe + 1) * rng.uniform(size=len(shape)) ** (1 / safe), 0.0)


def outputs(rng, alpha1, alpha2, delta, epsilon, floor):
    """A pair of outputs drawn from the model."""
    shared = gamma(rng, delta)
    one = shared + gamma(rng, alpha1 - delta)
    two = (shared + gamma(rng, alpha2 - delta)) * np.exp(epsilon * rng.normal(size=len(delta)))
    return [np.maximum(x / x.sum(), floor) / np.maximum(x / x.sum(), floor).sum() for x in (one, two)]


KINDS = {
    # name: scale of shapes, ratio of delta to the smaller alpha, what else
    "independent": (6, 0.0, ""),
    "nearly-independent": (6, 1e-3, ""),
    "one-independent": (4, 0.6, "one zero"),
    "one-bound": (5, 0.6, "one bound"),
    "all-bound": (3, 1.0, ""),
    "one-rigid": (5, 0.7, "one rigid"),
    "all-rigid": (5, 1.0, "equal"),
    "nearly-rigid": (8, 0.999, "equal"),
    "near-tie": (8, 0.9, "near"),
    "near-tie-sharp": (1.2, 0.8, "near"),
    "tie": (10, 0.95, "tie"),
    "tie-sharp": (1, 0.9, "tie"),
    "tiny": (0.15, 0.5, ""),
    "tiny-bound": (0.3, 0.7, "one bound"),
    "large": (250, 0.5, ""),
    "large-bound": (200, 0.97, "one bound"),
    "floor": (2, 0.6, "floor"),
    "floor-bound": (1, 0.6, "floor one bound"),
    "plain": (10, 0.8, ""),
    "plain-small": (1, 0.5, ""),
}


def cases(rng):
    classes = [2, 3, 2, 4, 3, 5]
    for i, (name, (scale, ratio, more)) in enumerate(KINDS.items()):
        for k, epsilon in enumerate([0.003, 0.01, 0.03, 0.1]):
            j = classes[(i + k) % 6]
            alpha1, alpha2 = (np.round(scale * rng.uniform(0.6, 1.6, j), 4) for _ in range(2))
            if "equal" in more:
                alpha2 = alpha1.copy()
            delta = np.round(ratio * np.minimum(alpha1, alpha2), 4)
            if ratio == 1.0 or "bound" in more:
                delta[: j if ratio == 1.0 else 1] = np.minimum(alpha1, alpha2)[: j if ratio == 1.0 else 1]
            if "rigid" in more:
                delta[0] = alpha2[0] = alpha1[0]
            if "zero" in more:
                delta[-1] = 0.0
            x1, x2 = outputs(rng, alpha1, alpha2, delta, epsilon, 1e-6)
            if "near" in more:
                x2 = x1 * np.exp(10 ** rng.uniform(-7, -2) * rng.normal(size=j))
            if "tie" in more:
                x2 = x1.copy()
            if "floor" in more:
                x1[-1], x2[0] = 1e-6, 1e-5
            x1, x2 = x1 / x1.sum(), x2 / x2.sum()
            yield f"{name}-{j}", x1, x2, alpha1, alpha2, delta, epsilon


def text(values):
    return " ".join(repr(float(v)) for v in values)


def main():
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("density_resolution_stress.csv")
    with out.open("w") as table:
        print("name,x1,x2,alpha1,alpha2,delta,resolution,log_density,abs_err", file=table)
        for name, *vectors, epsilon in cases(np.random.default_rng(SEED)):
            ln_density, error = value(*vectors, epsilon)
            numbers = [str(epsilon), f"{ln_density:.10f}", f"{max(error, 1e-10):.1e}"]
            print(",".join([name, *map(text, vectors), *numbers]), file=table, flush=True)


if __name__ == "__main__":
    main()
