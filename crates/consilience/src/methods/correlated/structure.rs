//! Structures of three and more correlated sources.

use serde::{Deserialize, Serialize};

use super::tree::TreeKind;

/// The model of three and more correlated sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// Exact densities of pairs along the spanning tree with the largest gain.
    #[default]
    Tree,
    /// The average over all spanning trees.
    TreeMixture,
    /// The paper's model: shapes shared by all sources and by every pair.
    Full,
    /// The paper's model without shapes shared by pairs only.
    Common,
}

impl Structure {
    /// One tree or all trees; none for the paper's model.
    pub fn tree(self) -> Option<TreeKind> {
        match self {
            Self::Tree => Some(TreeKind::Tree),
            Self::TreeMixture => Some(TreeKind::TreeMixture),
            Self::Full | Self::Common => None,
        }
    }
}
