//! How more than two correlated classifiers are joined.

use serde::{Deserialize, Serialize};

use super::tree::TreeKind;

/// How more than two correlated classifiers are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// By the exact densities of pairs, along the tree that explains most.
    #[default]
    Tree,
    /// By all such trees, averaged.
    TreeMixture,
    /// The paper's model: a part common to all and one for every pair.
    Full,
    /// The paper's model without the pairs' parts.
    Common,
}

impl Structure {
    /// Which trees; none for the paper's model.
    pub fn tree(self) -> Option<TreeKind> {
        match self {
            Self::Tree => Some(TreeKind::Tree),
            Self::TreeMixture => Some(TreeKind::TreeMixture),
            Self::Full | Self::Common => None,
        }
    }
}
