"""Writes multivariate_t.csv: log densities of Student t and normal distributions by mpmath.

The closed form with 50 digits, rounded to 20. Where the integral is easy, it is compared with the
definition as a scale mixture: f(x) = ∫ N(x; μ, Σ/w) Gamma(w; ν/2, rate ν/2) dw.
"""

import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 50
DIGITS = 20

PLANE = [[1.0, 0.5], [0.5, 2.0]]
SPACE = [[2.0, -0.5, 0.25], [-0.5, 1.0, 0.125], [0.25, 0.125, 0.5]]
# Two pairs of coordinates that are nearly copies.
COPIES = [
    [1.0, 0.25, 0.9990234375, 0.25],
    [0.25, 1.0, 0.25, 0.9990234375],
    [0.9990234375, 0.25, 1.0, 0.25],
    [0.25, 0.9990234375, 0.25, 1.0],
]
TINY = [[2.0**-20, 0.0], [0.0, 2.0**20]]


def cases():
    for degrees in (0.125, 1.0, 2.5, 7.0, 30.0, 63.0, 65.0, 1e3, 1e5, 1e8, mp.inf):
        yield degrees, [0.25], [[1.5]], [1.0]
        yield degrees, [0.0, 1.0], PLANE, [0.5, -0.25]
        yield degrees, [0.5, -1.0, 0.25], SPACE, [40.0, 3.0, -20.0]
        yield degrees, [0.0] * 4, COPIES, [0.5, 0.25, 0.53125, 0.1875]
    yield 5.0, [0.0, 0.0], TINY, [0.0, 0.0]
    yield 5.0, [0.0, 0.0], TINY, [0.5, 1e6]
    yield 12.0, [0.125] * 10, [[3.0 if a == b else 1.0 for b in range(10)] for a in range(10)], [1.0] * 10


def parts(location, scale, x):
    matrix = mp.matrix(scale)
    off = mp.matrix([mp.mpf(a) - mp.mpf(m) for a, m in zip(x, location)])
    return (off.T * mp.lu_solve(matrix, off))[0], mp.det(matrix)


def ln_density(degrees, location, scale, x):
    d = len(x)
    q, determinant = parts(location, scale, x)
    if mp.isinf(degrees):
        return -(d * mp.log(2 * mp.pi) + mp.log(determinant) + q) / 2
    nu = mp.mpf(degrees)
    peak = mp.loggamma((nu + d) / 2) - mp.loggamma(nu / 2) - (d * mp.log(nu * mp.pi) + mp.log(determinant)) / 2
    return peak - (nu + d) / 2 * mp.log1p(q / nu)


def by_integral(degrees, location, scale, x):
    d, nu = len(x), mp.mpf(degrees)
    q, determinant = parts(location, scale, x)
    constant = (nu / 2) ** (nu / 2) / mp.gamma(nu / 2) / mp.sqrt((2 * mp.pi) ** d * determinant)
    mixed = lambda w: w ** ((nu + d) / 2 - 1) * mp.exp(-w * (nu + q) / 2)
    middle = (nu + d) / (nu + q)
    return mp.log(constant * mp.quad(mixed, [0, middle / 4, middle / 2, middle, 2 * middle, 4 * middle, mp.inf]))


def main(path):
    numbers = lambda values: " ".join(repr(v) for v in values)
    lines = ["degrees,location,scale,x,ln_density"]
    for degrees, location, scale, x in cases():
        value = ln_density(degrees, location, scale, x)
        if 2 < degrees < 40:
            assert abs(by_integral(degrees, location, scale, x) - value) < 1e-15 * (1 + abs(value))
        flat = [v for row in scale for v in row]
        cells = ["inf" if mp.isinf(degrees) else repr(degrees), numbers(location), numbers(flat), numbers(x)]
        lines.append(",".join(cells + [mp.nstr(value, DIGITS)]))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("multivariate_t.csv"))
