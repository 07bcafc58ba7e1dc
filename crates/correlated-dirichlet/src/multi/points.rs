//! Scrambled Sobol points, kept for all items that ask for the same ones.
//!
//! To scramble points takes as long as to evaluate them. So items share them, each with reflections of its own: in every
//! replicate every coordinate has a sign, drawn from the item's number. A reflected net is as even as the net was.
//!
//! `sobol_burley` gives Owen-scrambled sequences of 2¹⁶ points in 256 dimensions, 24 bits each; a seed of its own for every
//! replicate and, beyond 256, for every further 256 dimensions (those sets are then independent of each other).

use sobol_burley::{NUM_DIMENSION_SETS_4D, sample_4d};

use super::kernel::POINTS;
use consilience_numerics::special::normal_quantile;

/// Independent scramblings: their spread is the error.
pub(super) const REPLICATES: usize = 16;
/// Points at the most, all replicates together.
pub(super) const LONGEST: usize = REPLICATES << 16;
/// Numbers that are kept for the next item, of each stage; batches beyond are made anew.
const KEPT: usize = 1 << 21;
/// Sets of points that are kept: classes of one item may differ in their dimensions.
const SETS: usize = 4;

/// A batch of points: coordinate by coordinate, [`POINTS`] numbers each.
#[derive(Debug, Default, Clone)]
struct Chunk {
    /// Standard normal variables.
    normals: Vec<f64>,
    /// Minus their log density at every point.
    ln_volume: Vec<f64>,
}

/// The points of one seed and number of dimensions.
#[derive(Debug, Default)]
pub(super) struct Points {
    seed: u64,
    dimensions: usize,
    /// The item's number, which says which coordinates are reflected; none are for 0.
    item: u64,
    /// By stage, replicate by replicate within a batch.
    kept: Vec<Vec<Chunk>>,
    passing: Chunk,
}

/// Which points: stages of a computation have scramblings of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Which {
    pub(super) stage: usize,
    pub(super) replicate: usize,
    pub(super) batch: usize,
}

/// Points of several seeds and numbers of dimensions, the last used first.
#[derive(Debug, Default)]
pub(super) struct PointSets(Vec<Points>);

impl PointSets {
    /// The points for an item.
    pub(super) fn of(&mut self, seed: u64, item: u64, dimensions: usize) -> &mut Points {
        let wanted = |set: &Points| set.seed == seed && set.dimensions == dimensions;
        if let Some(place) = self.0.iter().position(wanted) {
            self.0[..=place].rotate_right(1);
        } else {
            self.0.truncate(SETS - 1);
            self.0.insert(0, Points { seed, dimensions, ..Points::default() });
        }
        self.0[0].item = item;
        &mut self.0[0]
    }
}

impl Points {
    /// Overwrites `normals` with a batch of the item's points; returns minus the log density of each.
    pub(super) fn normals(&mut self, which: Which, normals: &mut Vec<f64>) -> &[f64] {
        let item = self.item;
        let chunk = self.chunk(which);
        normals.clear();
        let stream = which.stage * REPLICATES + which.replicate;
        for (i, coordinate) in chunk.normals.chunks_exact(POINTS).enumerate() {
            let sign = if item == 0 { 1.0 } else { reflection(item, stream, i) };
            normals.extend(coordinate.iter().map(|v| sign * v));
        }
        &chunk.ln_volume
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn chunk(&mut self, which: Which) -> &Chunk {
        let (seed, dimensions) = (self.seed, self.dimensions);
        let place = which.batch * REPLICATES + which.replicate;
        if (place + 1) * dimensions * POINTS > KEPT {
            self.passing.fill(seed, dimensions, which);
            return &self.passing;
        }
        if self.kept.len() <= which.stage {
            self.kept.resize_with(which.stage + 1, Vec::new);
        }
        let kept = &mut self.kept[which.stage];
        if kept.len() <= place {
            kept.resize_with(place + 1, Chunk::default);
        }
        if kept[place].ln_volume.is_empty() {
            kept[place].fill(seed, dimensions, which);
        }
        &kept[place]
    }
}

impl Chunk {
    fn fill(&mut self, seed: u64, dimensions: usize, which: Which) {
        let stream = which.stage * REPLICATES + which.replicate;
        self.normals.resize(dimensions * POINTS, 0.0);
        self.ln_volume.clear();
        let constant = 0.5 * (2.0 * std::f64::consts::PI).ln();
        self.ln_volume.resize(POINTS, constant * dimensions as f64);
        for point in 0..POINTS {
            uniforms(seed, dimensions, stream, which.batch * POINTS + point, |i, u| {
                let v = normal_quantile(u);
                self.normals[i * POINTS + point] = v;
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
        let stream = ((set / sets) << 32 | stream) as u64;
        let scramble = mix(seed.wrapping_add(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let four = sample_4d(point as u32, (set % sets) as u32, scramble);
        for (j, u) in four.into_iter().enumerate().take(dimensions - 4 * set) {
            f(4 * set + j, f64::from(u) + HALF);
        }
    }
}

/// 1 or −1 for a coordinate of an item.
fn reflection(item: u64, stream: usize, coordinate: usize) -> f64 {
    let place = (stream as u64) << 32 | (coordinate / 32) as u64;
    let bits = mix(item.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
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

    /// Every replicate fills every dimension evenly: one of the first 64 points in each 64th.
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
