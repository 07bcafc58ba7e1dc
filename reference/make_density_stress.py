"""Writes density_stress.csv: random pair densities by tanh-sinh quadrature in all three directions.

Independent of the library's method: the outer variable is integrated by tanh-sinh between its kinks, the scale by
a fine trapezoid in its logarithm, the inner integrals by tanh-sinh with both end distances exact. Each value is
computed at two resolutions; their difference is the stated error, and cases above 1e-7 are dropped.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln, logsumexp

SEED, CASES = 20, 60


def tanh_sinh(n):
    """Abscissae as distances from 0 and from 1, and ln weights, on (0, 1)."""
    t = np.linspace(-4.3, 4.3, n)
    a = np.pi * np.sinh(t)
    left, right = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(a))
    weight = np.log(t[1] - t[0]) + np.log(np.pi * np.cosh(t)) + np.log(left) + np.log(right)
    keep = (left > 0) & (right > 0) & np.isfinite(weight)
    return left[keep], right[keep], weight[keep]


def ln_density(x1, x2, alpha1, alpha2, delta, n):
    a1, a2 = alpha1 - delta, alpha2 - delta
    kinks = np.log(x2 / x1)
    power = np.sum(delta + a1 + a2)
    v, q, w = tanh_sinh(n)
    constant = -np.sum(gammaln(delta) + gammaln(a1) + gammaln(a2))
    breaks = np.unique(kinks)
    edges = np.concatenate([[breaks[0] - 60.0], breaks, [breaks[-1] + 60.0]])
    if np.sum(alpha1) > 5:
        edges[0], edges[-1] = breaks[0] - 6.0, breaks[-1] + 6.0
    total = []
    for low, high in zip(edges[:-1], edges[1:]):
        for left, right, weight in zip(v, q, w):
            width = high - low
            lines = []
            if left < right:
                y, tau = low + width * left, (low - kinks) + width * left
            else:
                y, tau = high - width * right, (high - kinks) - width * right
            rho = np.exp(y)
            centre = np.log(power / (1 + rho))
            ln_s = centre + np.linspace(-14 / np.sqrt(min(power, 12)) - 2, 3.0, 4 * n // 3)
            s = np.exp(ln_s)
            ln_line = power * ln_s - s * (1 + rho) + len(x1) * y
            for l in range(len(x1)):
                first = tau[l] <= 0
                near, far = (a1[l], a2[l]) if first else (a2[l], a1[l])
                m = rho * x1[l] if first else x2[l]
                c = np.expm1(abs(tau[l]))
                base = (delta[l] - 1) * np.log(v) + (near - 1) * np.log(q) + (far - 1) * np.log(c + q) + w
                inner = logsumexp(base[None, :] + s[:, None] * m * v[None, :], axis=1)
                ln_line = ln_line + inner + (delta[l] + near + far - 2) * np.log(m)
            lines = logsumexp(ln_line) + np.log(ln_s[1] - ln_s[0])
            total.append(lines + weight + np.log(width))
    return logsumexp(total) + constant


def cases(rng):
    for i in range(CASES):
        j = int(rng.choice([2, 2, 3, 3, 4]))
        scale = 10 ** rng.uniform(-0.1, 1.6)
        alpha1 = np.round(scale * rng.uniform(0.6, 1.6, j), 4)
        alpha2 = np.round(scale * rng.uniform(0.6, 1.6, j), 4)
        ratio = rng.choice([0.1, 0.5, 0.8, 0.9])
        delta = np.round(ratio * np.minimum(alpha1, alpha2) * rng.uniform(0.8, 1, j), 4)
        shared = rng.gamma(delta)
        one, two = shared + rng.gamma(alpha1 - delta), shared + rng.gamma(alpha2 - delta)
        yield f"stress-{i}-J{j}", one / one.sum(), two / two.sum(), alpha1, alpha2, delta


def text(values):
    return " ".join(repr(float(v)) for v in values)


def main():
    out = Path(__file__).with_name("density_stress.csv")
    rows = ["name,x1,x2,alpha1,alpha2,delta,log_density,abs_err"]
    for name, *parameters in cases(np.random.default_rng(SEED)):
        fine, coarse = (ln_density(*parameters, n) for n in (121, 91))
        error = abs(fine - coarse)
        print(name, fine, error, file=sys.stderr)
        if error < 1e-7:
            rows.append(",".join([name, *map(text, parameters), f"{fine:.11f}", f"{max(error, 1e-10):.1e}"]))
    out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
