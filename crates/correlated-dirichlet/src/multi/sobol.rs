//! Scrambled Sobol points: quasi-random numbers, cached for all items that use the same ones.
//!
//! Scrambling points takes as long as evaluating the integrand at them. Items therefore share points, and each item
//! reflects them in its own way: every coordinate of every replicate has a sign that depends on the item's number. A
//! reflected net has the same discrepancy.
//!
//! `sobol_burley` gives Owen-scrambled sequences of 2¹⁶ points in 256 dimensions, with 24 bits each. Every replicate
//! has its own seed, and so has every further set of 256 dimensions (those sets are then independent of each other).

use sobol_burley::{NUM_DIMENSION_SETS_4D, sample_4d};

use super::constants::{BATCH, CACHED_NUMBERS, CACHED_SETS, REPLICATES};
use consilience_numerics::special::normal_quantile;

/// A batch of points: [`BATCH`] numbers per coordinate.
#[derive(Debug, Default, Clone)]
struct SobolBatch {
    /// Standard normal variables, coordinate by coordinate.
    normals: Vec<f64>,
    /// Minus their log density at every point.
    ln_volume: Vec<f64>,
}

/// The points of one seed and number of dimensions.
#[derive(Debug, Default)]
pub(super) struct SobolPoints {
    seed: u64,
    dimensions: usize,
    /// The item's number, which decides the coordinates to reflect; 0 reflects none.
    item: u64,
    /// Per stage, batch by batch and within a batch replicate by replicate.
    cached: Vec<Vec<SobolBatch>>,
    /// The last batch that did not fit into the cache.
    uncached: SobolBatch,
}

/// Index of a batch of points; every stage of a computation has its own scrambling.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchIndex {
    pub(super) stage: usize,
    pub(super) replicate: usize,
    pub(super) batch: usize,
}

/// Points of several seeds and numbers of dimensions, the last used first.
#[derive(Debug, Default)]
pub(super) struct SobolCache(Vec<SobolPoints>);

impl SobolCache {
    /// The points for an item.
    pub(super) fn of(&mut self, seed: u64, item: u64, dimensions: usize) -> &mut SobolPoints {
        let matches = |set: &SobolPoints| set.seed == seed && set.dimensions == dimensions;
        if let Some(position) = self.0.iter().position(matches) {
            self.0[..=position].rotate_right(1);
        } else {
            self.0.truncate(CACHED_SETS - 1);
            self.0.insert(0, SobolPoints { seed, dimensions, ..SobolPoints::default() });
        }
        self.0[0].item = item;
        &mut self.0[0]
    }
}

impl SobolPoints {
    /// Overwrites `normals` with a batch of the item's points; returns minus the log density of each.
    pub(super) fn normals(&mut self, index: BatchIndex, normals: &mut Vec<f64>) -> &[f64] {
        let item = self.item;
        let batch = self.batch(index);
        normals.clear();
        let stream = index.stage * REPLICATES + index.replicate;
        for (i, coordinate) in batch.normals.chunks_exact(BATCH).enumerate() {
            let sign = if item == 0 { 1.0 } else { reflection(item, stream, i) };
            normals.extend(coordinate.iter().map(|v| sign * v));
        }
        &batch.ln_volume
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn batch(&mut self, index: BatchIndex) -> &SobolBatch {
        let (seed, dimensions) = (self.seed, self.dimensions);
        let position = index.batch * REPLICATES + index.replicate;
        if (position + 1) * dimensions * BATCH > CACHED_NUMBERS {
            self.uncached.fill(seed, dimensions, index);
            return &self.uncached;
        }
        if self.cached.len() <= index.stage {
            self.cached.resize_with(index.stage + 1, Vec::new);
        }
        let cached = &mut self.cached[index.stage];
        if cached.len() <= position {
            cached.resize_with(position + 1, SobolBatch::default);
        }
        if cached[position].ln_volume.is_empty() {
            cached[position].fill(seed, dimensions, index);
        }
        &cached[position]
    }
}

impl SobolBatch {
    fn fill(&mut self, seed: u64, dimensions: usize, index: BatchIndex) {
        let stream = index.stage * REPLICATES + index.replicate;
        self.normals.resize(dimensions * BATCH, 0.0);
        self.ln_volume.clear();
        let constant = 0.5 * (2.0 * std::f64::consts::PI).ln();
        self.ln_volume.resize(BATCH, constant * dimensions as f64);
        for point in 0..BATCH {
            uniforms(seed, dimensions, stream, index.batch * BATCH + point, |i, u| {
                let v = normal_quantile(u);
                self.normals[i * BATCH + point] = v;
                self.ln_volume[point] += 0.5 * v * v;
            });
        }
    }
}

/// Calls `f(i, uᵢ)` for every coordinate of a point, 0 < u < 1.
pub(super) fn uniforms(
    seed: u64,
    dimensions: usize,
    stream: usize,
    point: usize,
    mut f: impl FnMut(usize, f64),
) {
    /// Half the distance between neighbouring values of a coordinate.
    const HALF: f64 = 1.0 / (1u64 << 25) as f64;
    let sets = NUM_DIMENSION_SETS_4D as usize;
    for set in 0..dimensions.div_ceil(4) {
        let stream = ((set / sets) as u64) << 32 | stream as u64;
        let scramble = mix(seed.wrapping_add(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let four = sample_4d(point as u32, (set % sets) as u32, scramble);
        for (j, u) in four.into_iter().enumerate().take(dimensions - 4 * set) {
            f(4 * set + j, f64::from(u) + HALF);
        }
    }
}

/// The sign, 1 or −1, of a coordinate of an item.
fn reflection(item: u64, stream: usize, coordinate: usize) -> f64 {
    let position = (stream as u64) << 32 | (coordinate / 32) as u64;
    let bits = mix(item.wrapping_add(position.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    if bits >> (coordinate % 32) & 1 == 0 { 1.0 } else { -1.0 }
}

/// A well mixed 32-bit seed (the finaliser of `SplitMix64`).
fn mix(seed: u64) -> u32 {
    let a = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let b = (a ^ (a >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((b ^ (b >> 31)) >> 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every replicate fills every dimension evenly: each of 64 intervals holds one of the first 64 points.
    #[test]
    fn points_are_stratified_and_replicates_differ() {
        let mut seen = Vec::new();
        for replicate in 0..REPLICATES {
            let mut counts = vec![[0; 64]; 300];
            for point in 0..64 {
                uniforms(5, 300, replicate, point, |i, u| counts[i][(u * 64.0) as usize] += 1);
            }
            assert!(counts.iter().flatten().all(|&n| n == 1));
            uniforms(5, 1, replicate, 0, |_, u| seen.push(u));
        }
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        assert_eq!(seen.len(), REPLICATES);
    }
}
