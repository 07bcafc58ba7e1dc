//! Rules that depend on which classifiers are present.

use crate::data::outputs::Items;

/// Which classifiers have an output for an item.
pub(super) fn presence(items: &Items<'_>, item: usize) -> Vec<bool> {
    (0..items.n_classifiers()).map(|k| items.output(item, k).is_some()).collect()
}

/// One rule for every set of classifiers present, made when first needed: items that lack the same
/// classifiers share it.
#[derive(Debug)]
pub(super) struct ByPresence<T> {
    made: Vec<(Vec<bool>, T)>,
}

impl<T> Default for ByPresence<T> {
    fn default() -> Self {
        Self { made: Vec::new() }
    }
}

impl<T> ByPresence<T> {
    pub(super) fn get(&mut self, present: &[bool], make: impl FnOnce() -> T) -> &T {
        let known = self.made.iter().position(|(mask, _)| mask == present);
        let place = known.unwrap_or_else(|| {
            self.made.push((present.to_vec(), make()));
            self.made.len() - 1
        });
        &self.made[place].1
    }
}
