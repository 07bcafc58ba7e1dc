//! Cutting labelled items into folds.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

/// The fold of every item, 0 to `n_folds` − 1, so that every fold has its share of every class.
///
/// Each class is shuffled and dealt out one by one; the next class goes on with the fold where the
/// last one ended, so that the folds differ by one item at most, in every class and as a whole.
pub(crate) fn stratified(
    labels: &[usize],
    n_classes: usize,
    n_folds: usize,
    seed: u64,
) -> Vec<usize> {
    let mut classes = vec![Vec::new(); n_classes];
    for (item, &label) in labels.iter().enumerate() {
        classes[label].push(item);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
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

/// The items inside and outside of one fold.
pub(crate) fn split(folds: &[usize], fold: usize) -> (Vec<usize>, Vec<usize>) {
    (0..folds.len()).partition(|&item| folds[item] == fold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fold_has_its_share_of_every_class() {
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
