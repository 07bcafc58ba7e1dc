//! Which wrong label a source gives: a Dirichlet over the other labels per class, shared by all
//! sources and learned by Minka's fixed point.
//!
//! # References
//! T. Minka, "Estimating a Dirichlet distribution", 2000, equation 65.

use consilience_numerics::special::digamma;

use super::super::core::{Core, block_sums};
use super::sources::Hits;

/// Imagined sources, and how often each gave wrong labels of each class.
const IMAGINED: f64 = 2.0;
const IMAGINED_ERRORS: f64 = 2.0;

/// Smallest concentration of a label, and largest of a class.
const LEAST: f64 = 1e-3;
const MOST: f64 = 1e3;

/// Concentrations `A_jl` of wrong labels l given class j, K × K with zeros on the diagonal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrongLabels {
    k: usize,
    concentration: Vec<f64>,
    totals: Vec<f64>,
}

impl WrongLabels {
    /// `A_jl` = K/(K−1).
    pub(crate) fn start(k: usize) -> Self {
        let even = k as f64 / (k as f64 - 1.0);
        let value = |i: usize| if i / k == i % k { 0.0 } else { even };
        let concentration = (0..k * k).map(value).collect();
        Self { k, concentration, totals: vec![k as f64; k] }
    }

    /// The same concentration for every wrong label.
    pub(crate) fn constant(k: usize, value: f64) -> Self {
        let mut this = Self::start(k);
        let scale = value / (k as f64 / (k as f64 - 1.0));
        this.concentration.iter_mut().chain(&mut this.totals).for_each(|a| *a *= scale);
        this
    }

    /// Turns counts of wrong labels of class j into probabilities that add up to 1.
    pub(crate) fn spread(&self, j: usize, counts: &mut [f64]) {
        let concentration = &self.concentration[j * self.k..(j + 1) * self.k];
        counts.iter_mut().zip(concentration).for_each(|(n, a)| *n += a);
        consilience_numerics::simplex::normalise(counts);
    }

    /// Some steps of the fixed point. With two classes there is one wrong label, and nothing to
    /// learn.
    pub(crate) fn learn(&mut self, core: &Core<'_>, counts: &[f64], hits: &Hits, steps: usize) {
        if self.k > 2 {
            (0..steps).for_each(|_| self.step(core, counts, hits));
        }
    }

    fn step(&mut self, core: &Core<'_>, counts: &[f64], hits: &Hits) {
        let k = self.k;
        let psi: Vec<f64> = self.concentration.iter().map(|a| psi(*a)).collect();
        let psi_total: Vec<f64> = self.totals.iter().map(|a| digamma(*a)).collect();
        let this = &*self;
        // Numerators by class and label, then denominators by class.
        let sums = block_sums(core.votes.n_sources(), k * k + k, |sources, sums| {
            for source in sources {
                this.add_source(core, source, counts, hits, (&psi, &psi_total), sums);
            }
        });
        let imagined = IMAGINED_ERRORS / (k as f64 - 1.0);
        for j in 0..k {
            let total = self.totals[j];
            let extra = digamma(IMAGINED_ERRORS + total) - psi_total[j];
            let denominator = (sums[k * k + j] + IMAGINED * extra).max(1e-12);
            for l in (0..k).filter(|l| *l != j) {
                let a = &mut self.concentration[j * k + l];
                let extra = digamma(imagined + *a) - psi[j * k + l];
                *a = (*a * (sums[j * k + l] + IMAGINED * extra) / denominator).max(LEAST);
            }
            self.limit(j);
        }
    }

    fn add_source(
        &self,
        core: &Core<'_>,
        source: usize,
        counts: &[f64],
        hits: &Hits,
        (psi, psi_total): (&[f64], &[f64]),
        sums: &mut [f64],
    ) {
        let (votes, k) = (core.votes, self.k);
        let weight = core.source_weight(source);
        for cell in votes.cells_of(source) {
            let label = votes.cell_label(cell);
            for j in (0..k).filter(|j| *j != label) {
                let n = counts[cell * k + j];
                if n > 0.0 {
                    let at = j * k + label;
                    sums[at] += weight * (digamma(n + self.concentration[at]) - psi[at]);
                }
            }
        }
        for j in 0..k {
            let errors = self.errors(hits, source, j);
            if errors > 0.0 {
                sums[k * k + j] += weight * (digamma(errors + self.totals[j]) - psi_total[j]);
            }
        }
    }

    fn limit(&mut self, j: usize) {
        let row = &mut self.concentration[j * self.k..(j + 1) * self.k];
        let total: f64 = row.iter().sum();
        let scale = if total > MOST { MOST / total } else { 1.0 };
        row.iter_mut().for_each(|a| *a *= scale);
        self.totals[j] = row.iter().sum();
    }

    /// Wrong votes of a source on items of class j.
    fn errors(&self, hits: &Hits, source: usize, j: usize) -> f64 {
        (hits.all[source * self.k + j] - hits.right[source * self.k + j]).max(0.0)
    }

    /// The logarithms of the two factors of `e_wj`(l) = (n + `A_jl`) / (Σ n + Σ A): of the numerator
    /// of a wrong label with n votes, and of the denominator.
    pub(crate) fn ln_numerator(&self, j: usize, label: usize, n: f64) -> f64 {
        if self.k == 2 { 0.0 } else { (n + self.concentration[j * self.k + label]).ln() }
    }

    pub(crate) fn ln_denominator(&self, hits: &Hits, source: usize, j: usize) -> f64 {
        if self.k == 2 { 0.0 } else { (self.errors(hits, source, j) + self.totals[j]).ln() }
    }

    /// The same without votes, for new sources.
    pub(crate) fn ln_total(&self, j: usize) -> f64 {
        if self.k == 2 { 0.0 } else { self.totals[j].ln() }
    }
}

/// ψ(a), and 0 on the diagonal.
fn psi(a: f64) -> f64 {
    if a > 0.0 { digamma(a) } else { 0.0 }
}
