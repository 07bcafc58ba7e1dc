"""Writes dirichlet.csv: Dirichlet log densities by mpmath with 50 digits, rounded to 20."""

import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 50
DIGITS = 20


def cases():
    yield [3.0, 1.0, 1.0], [0.5, 0.25, 0.25]
    for scale in (1e-6, 1e-3, 0.1, 1.0, 10.0, 1e3, 1e5):
        yield [3 * scale, scale], [0.75, 0.25]
        yield [scale, scale, scale], [0.5, 0.25, 0.25]
        yield [3 * scale, 2 * scale, 2 * scale], [0.998046875, 0.0009765625, 0.0009765625]
        yield [(1 + l % 5) * scale for l in range(16)], [1 / 16] * 16
    yield [0.5] * 64, [1 / 64] * 64
    yield [1.5, 2.5], [1 - 2.0**-40, 2.0**-40]
    yield [0.5, 700.25, 3.0], [2.0**-20, 0.75, 0.25 - 2.0**-20]


def ln_density(alpha, x):
    alpha, x = [mp.mpf(a) for a in alpha], [mp.mpf(v) for v in x]
    normaliser = sum(mp.loggamma(a) for a in alpha) - mp.loggamma(sum(alpha))
    return sum((a - 1) * mp.log(v) for a, v in zip(alpha, x)) - normaliser


def main(path):
    numbers = lambda values: " ".join(repr(v) for v in values)
    lines = ["alpha,x,ln_density"]
    for alpha, x in cases():
        lines.append(f"{numbers(alpha)},{numbers(x)},{mp.nstr(ln_density(alpha, x), DIGITS)}")
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("dirichlet.csv"))
