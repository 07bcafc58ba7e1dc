//! Some items of a long table, the same ones every time.

/// The item that stands for number `stretch` of the stretches of `step` consecutive items.
///
/// Its place in the stretch is scrambled: every `step`-th item of a table in which classes take
/// turns would often be of one class.
pub(crate) fn item_of_stretch(stretch: usize, step: usize) -> usize {
    let half = (stretch as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let scrambled = (half ^ (half >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32;
    stretch * step + usize::try_from(scrambled % step as u64).expect("less than the step")
}

/// All items if there are at most `most`, else one of each stretch of a table, at most so many.
pub(crate) fn at_most(most: usize, n_items: usize) -> impl Iterator<Item = usize> {
    let step = n_items.div_ceil(most).max(1);
    (0..n_items / step).map(move |stretch| item_of_stretch(stretch, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In tables whose classes take turns, every class has its share of the items, within four standard
    /// deviations of a random choice.
    #[test]
    fn items_of_all_classes_are_taken() {
        for (n_classes, step) in (2..8).flat_map(|j| (2..40).map(move |step| (j, step))) {
            let n = 2000;
            let mut counts = vec![0usize; n_classes];
            let items = (0..n).map(|stretch| item_of_stretch(stretch, step));
            items.for_each(|item| counts[item % n_classes] += 1);
            let expected = n as f64 / n_classes as f64;
            for count in counts {
                let off = (count as f64 - expected).abs();
                assert!(off < 4.0 * expected.sqrt(), "{n_classes} {step}: {count}");
            }
        }
    }

    #[test]
    fn items_are_within_the_table() {
        for n in [0, 1, 5, 1999, 2000, 2001, 4001, 123_457] {
            let items: Vec<usize> = at_most(2000, n).collect();
            assert!(items.len() <= 2000 && items.len() >= n.min(1000), "{n}");
            assert!(items.is_sorted() && items.iter().all(|item| *item < n), "{n}");
        }
    }
}
