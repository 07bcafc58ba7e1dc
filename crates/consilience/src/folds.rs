//! Stratified folds and random splits of labelled items.

use rand::seq::SliceRandom;

use crate::data::outputs::Outputs;
use crate::error::{Error, Result};
use crate::math::random::stream;

/// The requested number of folds (2 to 100), limited to the number of items of the smallest class.
pub(crate) fn usable(outputs: &Outputs, wanted: usize) -> Result<usize> {
    if !(2..=100).contains(&wanted) {
        return Err(Error::parameter("folds", "from 2 to 100", wanted));
    }
    let classes = outputs.schema().classes().iter().zip(outputs.class_counts());
    let (class, least) = classes.min_by_key(|(_, count)| *count).expect("two classes at least");
    match usize::try_from(least).unwrap_or(usize::MAX) {
        0 => Err(Error::EmptyClass { class: class.clone() }),
        1 => Err(Error::TooFewItems {
            class: class.clone(),
            needed: "at least 2 items, one to fit and one to score".into(),
            found: 1,
        }),
        least => Ok(wanted.min(least)),
    }
}

/// The fold of every item, from 0 to `n_folds` − 1, stratified by class.
///
/// The items of each class are shuffled and assigned to the folds in turn. Each class continues with
/// the fold after the last one of the previous class, so that fold sizes differ by at most one item,
/// per class and in total.
pub(crate) fn stratified(
    labels: &[usize],
    n_classes: usize,
    n_folds: usize,
    seed: u64,
) -> Vec<usize> {
    let mut classes = by_class(labels, n_classes);
    let mut rng = stream(seed, 0);
    let mut folds = vec![0; labels.len()];
    let mut next = 0;
    for class in &mut classes {
        class.shuffle(&mut rng);
        for &item in class.iter() {
            folds[item] = next % n_folds;
            next += 1;
        }
    }
    folds
}

/// A random choice of `per_class` items of every class: the chosen items and the others, both in
/// increasing order. Choices with different numbers are independent.
pub(crate) fn random_split(
    labels: &[usize],
    per_class: &[usize],
    (seed, number): (u64, u64),
) -> (Vec<usize>, Vec<usize>) {
    let mut classes = by_class(labels, per_class.len());
    let mut rng = stream(seed, number);
    let mut is_chosen = vec![false; labels.len()];
    for (class, &wanted) in classes.iter_mut().zip(per_class) {
        class.shuffle(&mut rng);
        class.iter().take(wanted).for_each(|&item| is_chosen[item] = true);
    }
    (0..labels.len()).partition(|&item| is_chosen[item])
}

/// The items of every class.
fn by_class(labels: &[usize], n_classes: usize) -> Vec<Vec<usize>> {
    let mut classes = vec![Vec::new(); n_classes];
    for (item, &label) in labels.iter().enumerate() {
        classes[label].push(item);
    }
    classes
}

/// The items inside and outside one fold.
pub(crate) fn split(folds: &[usize], fold: usize) -> (Vec<usize>, Vec<usize>) {
    (0..folds.len()).partition(|&item| folds[item] == fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fold_sizes_differ_by_at_most_one_item_per_class() {
        let labels: Vec<usize> =
            (0..103).map(|i| usize::from(i % 3 == 0) + usize::from(i % 7 == 0)).collect();
        let folds = stratified(&labels, 3, 5, 1);
        let count = |f: usize, class: Option<usize>| {
            let inside =
                |&(&fold, &label): &(&usize, &usize)| fold == f && class.is_none_or(|c| c == label);
            folds.iter().zip(&labels).filter(inside).count()
        };
        for class in [None, Some(0), Some(1), Some(2)] {
            let counts: Vec<usize> = (0..5).map(|fold| count(fold, class)).collect();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{counts:?}");
        }
        assert_eq!(folds, stratified(&labels, 3, 5, 1));
        assert_ne!(folds, stratified(&labels, 3, 5, 2));
        let (inside, outside) = split(&folds, 2);
        assert_eq!(inside.len() + outside.len(), labels.len());
    }
}
