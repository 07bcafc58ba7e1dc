//! Distinct names, numbered in the order in which they first occur.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};

/// A list of distinct names with an index by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    list: Vec<Arc<str>>,
    index: HashMap<Arc<str>, u32>,
}

impl Names {
    /// The number of a name, which is added if it is new.
    pub(super) fn add(&mut self, name: &str, what: &str) -> Result<u32> {
        if let Some(&known) = self.index.get(name) {
            return Ok(known);
        }
        if name.is_empty() {
            return Err(Error::InvalidNames(format!("{what} {} has no name", self.list.len() + 1)));
        }
        let number =
            u32::try_from(self.list.len()).ok().filter(|n| *n < u32::MAX).ok_or_else(|| {
                Error::parameter(format!("number of {what}s"), "below 2^32 − 1", "more")
            })?;
        let name: Arc<str> = name.into();
        self.list.push(Arc::clone(&name));
        self.index.insert(name, number);
        Ok(number)
    }

    /// As [`Self::add`], without a search if the name is that of the last call: votes on an item
    /// are often in consecutive rows.
    pub(super) fn add_again(&mut self, name: &str, what: &str, last: &mut u32) -> Result<u32> {
        if self.list.get(*last as usize).is_none_or(|known| **known != *name) {
            *last = self.add(name, what)?;
        }
        Ok(*last)
    }

    /// The number of a name.
    pub(super) fn get(&self, name: &str) -> Option<u32> {
        self.index.get(name).copied()
    }

    /// All names in order.
    pub(super) fn list(&self) -> &[Arc<str>] {
        &self.list
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The names in another order: the name at place i was at `order[i]` before.
    pub(super) fn reordered(self, order: &[usize]) -> Self {
        let list: Vec<Arc<str>> = order.iter().map(|&i| Arc::clone(&self.list[i])).collect();
        let index = (0u32..).zip(&list).map(|(i, name)| (Arc::clone(name), i)).collect();
        Self { list, index }
    }

    /// The order in which labels become classes: by number if all of them are numbers, otherwise
    /// by text.
    pub(super) fn sorted_order(&self) -> Vec<usize> {
        let number = |i: &usize| self.list[*i].parse::<f64>().ok().filter(|n| n.is_finite());
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by(|&a, &b| self.list[a].cmp(&self.list[b]));
        if let Some(numbers) = (0..self.list.len()).map(|i| number(&i)).collect::<Option<Vec<_>>>()
        {
            order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        }
        order
    }
}
