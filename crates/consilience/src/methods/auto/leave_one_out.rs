//! Leave-one-out predictions of a regression by one Newton step.
//!
//! Without item i, the most probable parameters move by about M⁻¹ Zᵀr, with Z the Jacobian of the
//! item's predictors, r = p − y its residuals, and M = H − Zᵀ(diag p − ppᵀ)Z the curvature of the
//! posterior H without the item. The predictors of the item then move by Z M⁻¹ Zᵀr.
//!
//! M differs from H by a matrix of rank below J, so that at most J steps of conjugate gradients with H as preconditioner
//! solve the equation. All vectors of these steps are Zᵀ or H⁻¹Zᵀ times a vector ρ of one number per class, so that the
//! steps are taken with those, and every step multiplies once by A = Z H⁻¹ Zᵀ. All items of a block are treated at once.

use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};

use super::features::MeanOutputs;
use super::members::Rule;
use crate::error::Result;
use crate::math::columns::{add_products, add_scaled, set_products, softmax};
use crate::methods::regression::{
    Blocks, ClassColumns, ItemBlock, Regression, Room, Work, probabilities,
};
use crate::progress::Progress;
use crate::sampling::factorise;

/// A member of the mixture that is fitted as a regression.
pub(super) trait FittedMember: Regression {
    /// Hands the derivatives of the predictors to `f`; called after the predictors of the block were computed.
    fn with_columns(
        &self,
        theta: &[f64],
        block: &ItemBlock,
        room: &mut Room,
        f: &mut dyn FnMut(&ClassColumns<'_>, &mut Work),
    );

    /// The rule with fitted parameters.
    fn finish(&self, theta: &[f64], means: &MeanOutputs) -> Rule;

    /// Parameters without the biases.
    fn n_exponents(&self) -> usize;

    fn prior_weight(&self) -> f64;

    fn as_regression(&self) -> &dyn Regression;
}

/// No predictor moves by more than this.
const LARGEST_MOVE: f64 = 30.0;

/// Conjugate gradients end when the squared size of the rest has fallen by this factor.
const TOLERANCE: f64 = 1e-24;

/// The log score of every item when it is left out, by the member at its most probable parameters θ, where the negative
/// Hessian of its log posterior is `curvature`.
pub(super) fn scores(
    member: &dyn FittedMember,
    (theta, offsets): (&[f64], &[f64]),
    curvature: &DMatrix<f64>,
    blocks: &Blocks<'_>,
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let inverse = factorise(curvature).inverse();
    let n_biases = theta.len() - member.n_exponents();
    let hat = Hat::new(&inverse, n_biases);
    let new = || (Vec::new(), Room::default(), Moves::default());
    let pieces = blocks.pieces(1, progress, new, |block, (scores, room, moves)| {
        probabilities(member.as_regression(), (theta, offsets), block, room);
        member.with_columns(theta, block, room, &mut |columns, work| {
            moves.find(&hat, columns, block, &work.probabilities, progress);
            moves.add_to(&mut work.predictors);
        });
        let Work { predictors, probabilities, ln_totals, .. } = &mut room.work;
        softmax(predictors, probabilities, ln_totals);
        let score = |(i, label): (usize, &u32)| {
            predictors[*label as usize * block.stride + i] - ln_totals[i]
        };
        scores.extend(block.labels.iter().enumerate().map(score));
    })?;
    progress.check()?;
    Ok(pieces.into_iter().flat_map(|(scores, ..)| scores).collect())
}

/// The parts of H⁻¹: those of biases, of biases and coefficients, of coefficients.
struct Hat {
    biases: DMatrix<f64>,
    mixed: DMatrix<f64>,
    coefficients: DMatrix<f64>,
}

impl Hat {
    fn new(inverse: &DMatrix<f64>, n_biases: usize) -> Self {
        let (j, f) = (n_biases, inverse.nrows() - n_biases);
        Self {
            biases: inverse.view((0, 0), (j, j)).into_owned(),
            mixed: inverse.view((0, j), (j, f)).into_owned(),
            coefficients: inverse.view((j, j), (f, f)).into_owned(),
        }
    }
}

/// The moves of a block's predictors, and buffers to find them. All have J columns but those that are named.
#[derive(Default)]
struct Moves {
    /// Z M⁻¹ Zᵀr.
    found: Vec<f64>,
    rest: Vec<f64>,
    /// A ρ.
    predicted: Vec<f64>,
    direction: Vec<f64>,
    /// A δ.
    along: Vec<f64>,
    image: Vec<f64>,
    /// Φᵀδ, and the coefficients that follow: a column per feature.
    sums: Vec<f64>,
    coefficients: Vec<f64>,
    /// One number per item: min(1, weight), the part of the item that is left out, and products of vectors.
    units: Vec<f64>,
    sizes: Vec<f64>,
    starts: Vec<f64>,
    products: Vec<f64>,
}

impl Moves {
    /// Z M⁻¹ Zᵀr for all items.
    fn find(
        &mut self,
        hat: &Hat,
        columns: &ClassColumns<'_>,
        block: &ItemBlock,
        p: &[f64],
        progress: &dyn Progress,
    ) {
        let stride = block.stride;
        self.begin(block, p);
        self.multiply(hat, columns, stride);
        self.direction.clone_from(&self.rest);
        self.along.clone_from(&self.predicted);
        self.sizes = sums_of_products(&self.rest, &self.predicted, stride);
        self.starts.clone_from(&self.sizes);
        for _ in 0..columns.n_classes {
            let active = |i: usize| self.sizes[i] > TOLERANCE * self.starts[i];
            if !(0..stride).any(active) || progress.is_interrupted() {
                break;
            }
            self.step(p, stride);
            self.multiply(hat, columns, stride);
            self.turn(stride);
        }
    }

    /// r = u (p − y), and no moves.
    fn begin(&mut self, block: &ItemBlock, p: &[f64]) {
        let stride = block.stride;
        self.units.clear();
        self.units.extend(block.weights.iter().map(|weight| weight.min(1.0)));
        self.found.clear();
        self.found.resize(p.len(), 0.0);
        self.rest.resize(p.len(), 0.0);
        self.image.resize(p.len(), 0.0);
        for (rest, p) in self.rest.chunks_exact_mut(stride).zip(p.chunks_exact(stride)) {
            set_products(rest, p, &self.units);
        }
        for (i, label) in block.labels.iter().enumerate() {
            self.rest[*label as usize * stride + i] -= self.units[i];
        }
    }

    /// One step along the direction: image = δ − W A δ with W = u (diag p − ppᵀ).
    fn step(&mut self, p: &[f64], stride: usize) {
        let means = sums_of_products(p, &self.along, stride);
        let columns = self.image.chunks_exact_mut(stride).zip(self.direction.chunks_exact(stride));
        for ((image, direction), (p, along)) in
            columns.zip(p.chunks_exact(stride).zip(self.along.chunks_exact(stride)))
        {
            for i in 0..stride {
                image[i] = direction[i] - self.units[i] * p[i] * (along[i] - means[i]);
            }
        }
        self.products = sums_of_products(&self.along, &self.image, stride);
        for i in 0..stride {
            let active = self.sizes[i] > TOLERANCE * self.starts[i];
            let length = self.sizes[i] / self.products[i].max(f64::MIN_POSITIVE);
            self.products[i] = if active { length } else { 0.0 };
        }
        for (column, along) in
            self.found.chunks_exact_mut(stride).zip(self.along.chunks_exact(stride))
        {
            add_products(column, along, &self.products);
        }
        self.products.iter_mut().for_each(|length| *length = -*length);
        for (rest, image) in self.rest.chunks_exact_mut(stride).zip(self.image.chunks_exact(stride))
        {
            add_products(rest, image, &self.products);
        }
    }

    /// The next direction: the rest and a part of the direction before.
    fn turn(&mut self, stride: usize) {
        let sizes = sums_of_products(&self.rest, &self.predicted, stride);
        for (i, size) in sizes.iter().enumerate() {
            let active = self.sizes[i] > TOLERANCE * self.starts[i];
            self.products[i] = if active { size / self.sizes[i] } else { 0.0 };
        }
        self.sizes = sizes;
        for (direction, rest) in
            [(&mut self.direction, &self.rest), (&mut self.along, &self.predicted)]
        {
            for (direction, rest) in
                direction.chunks_exact_mut(stride).zip(rest.chunks_exact(stride))
            {
                for i in 0..stride {
                    direction[i] = rest[i] + self.products[i] * direction[i];
                }
            }
        }
    }

    /// A ρ = Z H⁻¹ Zᵀρ for all items.
    fn multiply(&mut self, hat: &Hat, columns: &ClassColumns<'_>, stride: usize) {
        let (j, f) = (columns.n_classes, columns.n_features());
        let Self { rest, predicted, sums, coefficients, .. } = self;
        sums.clear();
        sums.resize(f * stride, 0.0);
        coefficients.resize(f * stride, 0.0);
        predicted.clear();
        predicted.resize(rest.len(), 0.0);
        for (m, sum) in sums.chunks_exact_mut(stride).enumerate() {
            for (t, rest) in rest.chunks_exact(stride).enumerate() {
                add_products(sum, rest, columns.column(m, t));
            }
        }
        product(coefficients, sums, &hat.coefficients, stride);
        if columns.has_biases {
            product(predicted, rest, &hat.biases, stride);
            for (t, m) in (0..j).flat_map(|t| (0..f).map(move |m| (t, m))) {
                let of_class = t * stride..(t + 1) * stride;
                let of_feature = m * stride..(m + 1) * stride;
                let part = hat.mixed[(t, m)];
                add_scaled(&mut predicted[of_class.clone()], part, &sums[of_feature.clone()]);
                add_scaled(&mut coefficients[of_feature], part, &rest[of_class]);
            }
        }
        for (t, predicted) in predicted.chunks_exact_mut(stride).enumerate() {
            for (m, coefficient) in coefficients.chunks_exact(stride).enumerate() {
                add_products(predicted, coefficient, columns.column(m, t));
            }
        }
    }

    /// Adds the moves to the predictors.
    fn add_to(&self, predictors: &mut [f64]) {
        for (u, step) in predictors.iter_mut().zip(&self.found) {
            *u += step.clamp(-LARGEST_MOVE, LARGEST_MOVE);
        }
    }
}

/// columns · matrix, for a symmetric matrix.
fn product(result: &mut [f64], columns: &[f64], matrix: &DMatrix<f64>, stride: usize) {
    let n = matrix.nrows();
    let columns = DMatrixView::from_slice(columns, stride, n);
    DMatrixViewMut::from_slice(result, stride, n).gemm(1.0, &columns, matrix, 0.0);
}

/// The sum over columns of the products of two tables, for every item.
fn sums_of_products(a: &[f64], b: &[f64], stride: usize) -> Vec<f64> {
    let mut sums = vec![0.0; stride];
    for (a, b) in a.chunks_exact(stride).zip(b.chunks_exact(stride)) {
        add_products(&mut sums, a, b);
    }
    sums
}
#[cfg(test)]
mod tests {
    use super::super::evidence::Evidence;
    use super::super::features::Features;
    use super::super::layers::{LAYERS, LayerRegression};
    use super::super::linear::LinearRegression;
    use super::*;
    use crate::data::outputs::Outputs;
    use crate::methods::regression::{
        Loader, Picked, Source, check_derivatives, curvatures, find_modes,
    };
    use crate::methods::stacking::{LabelledItems, LogTable};
    use crate::progress::NoProgress;
    use crate::simulation::Preset;

    /// A table in which one item has the weight 0.
    struct Without<'a> {
        all: &'a Features<'a>,
        item: usize,
    }

    impl Source for Without<'_> {
        fn items(&self) -> &Outputs {
            self.all.items()
        }

        fn width(&self) -> usize {
            self.all.width()
        }

        fn is_slow(&self) -> bool {
            self.all.is_slow()
        }

        fn load(&self, picked: Picked, loader: &mut Loader, block: &mut ItemBlock) {
            self.all.load(picked, loader, block);
            for (weight, item) in block.weights.iter_mut().zip(picked.items()) {
                *weight *= f64::from(u8::from(item != self.item));
            }
        }
    }

    /// Some items lack an output.
    fn items() -> Outputs {
        let outputs = Preset::Sim2.truth(0.5).unwrap().simulate(25, 1).unwrap();
        let format = crate::InputFormat::default();
        let mut builder = crate::OutputsBuilder::new(outputs.schema().clone(), format).unwrap();
        for item in 0..outputs.n_items() {
            let mut raw = outputs.items(item..item + 1).values().to_vec();
            if item % 5 == 0 {
                raw[3 * (item / 5 % 2)..][..3].fill(f64::NAN);
            }
            builder.push_indexed(&raw, outputs.label(item)).unwrap();
        }
        builder.finish()
    }

    /// Derivatives against differences, and scores against fits without the item: one Newton step
    /// from the fit with it is off by the square of what the item changes.
    #[test]
    fn derivatives_and_scores_of_all_members_agree_with_differences_and_refits() {
        let outputs = items();
        let training = LabelledItems::informative(&outputs);
        let means = MeanOutputs::of(&outputs);
        let table = LogTable::new(&outputs, &outputs, &NoProgress).unwrap();
        let evidence = Evidence::new(&training, &NoProgress).unwrap();
        let features = Features::new(&training, &table.filler, &means, &evidence);
        let blocks = Blocks::new(&features, 1, &NoProgress).unwrap();
        let scales = features.scales(&blocks, &NoProgress).unwrap();
        let layers = LAYERS.iter().map(|layer| LayerRegression::new(layer, &features, &scales));
        let layers: Vec<LayerRegression> = layers.collect();
        let linear = LinearRegression::new(&means);
        let members = layers.iter().map(|layer| layer as &dyn FittedMember);
        let offsets = [-1.3, -0.9, -1.1];
        for member in members.chain([&linear as &dyn FittedMember]) {
            let regression = member.as_regression();
            let point: Vec<f64> =
                (0..member.prior().len()).map(|i| 0.5 * (i as f64).sin()).collect();
            let is_layer = member.prior().len() > 3;
            check_derivatives(regression, (&blocks, &offsets), &point, is_layer);
            let mode = |blocks: &Blocks<'_>| {
                let start = vec![member.prior().means.clone()];
                find_modes(blocks, &offsets, &[regression], start, &NoProgress).unwrap().remove(0)
            };
            let theta = mode(&blocks).theta;
            let curvature =
                curvatures(&blocks, &offsets, &[(regression, &theta)], &NoProgress).unwrap();
            let got =
                scores(member, (&theta, &offsets), &curvature[0], &blocks, &NoProgress).unwrap();
            assert_eq!(got.len(), outputs.n_items());
            let score = |theta: &[f64], item: usize| {
                let mut block = ItemBlock::default();
                let picked = Picked { first: item, step: 1, n: 1 };
                features.load(picked, &mut Loader::default(), &mut block);
                let mut room = Room::default();
                probabilities(regression, (theta, &offsets), &block, &mut room);
                room.work.probabilities[block.labels[0] as usize * block.stride].ln()
            };
            let (mut all_changes, mut all_off) = (0.0, 0.0);
            for item in (0..outputs.n_items()).step_by(4) {
                let without = Without { all: &features, item };
                let refitted = mode(&Blocks::new(&without, 1, &NoProgress).unwrap()).theta;
                let (want, plain) = (score(&refitted, item), score(&theta, item));
                let (change, off) = ((plain - want).abs(), (got[item] - want).abs());
                assert!(off < 0.15 * change + 5e-3, "item {item}: {} {want} {plain}", got[item]);
                (all_changes, all_off) = (all_changes + change, all_off + off);
            }
            assert!(all_off < 0.15 * all_changes, "{all_off} of {all_changes}");
        }
    }
}
