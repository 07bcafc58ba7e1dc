//! The methods of a comparison.

use crate::data::schema::Schema;
use crate::error::Result;
use crate::methods::MethodConfig;
use crate::methods::meta::Meta;

/// A method with its options, to be compared under a name of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name of its row.
    pub name: String,
    /// The method and its options; the comparison sets the class prior.
    pub config: MethodConfig,
}

impl Candidate {
    /// A candidate with the name of its method.
    pub fn new(config: MethodConfig) -> Self {
        Self { name: config.name(), config }
    }
}

/// Pools with other weights than their default: what else a user would try.
const POOLS: [&str; 3] = ["linear-pool:equal", "linear-pool:greedy", "log-pool:non-negative"];

/// Pairs of classifiers × items × classes beyond which `correlated` is not compared unless asked
/// for. One fit then takes two to three seconds; all other methods take a fraction of it.
const CHEAP: usize = 3_000;

/// All methods that can fuse these classifiers, and every meta classifier. `adapt` changes the options
/// of each, for instance [`MethodConfig::at_mode`].
pub fn all_methods(
    schema: &Schema,
    adapt: impl Fn(&MethodConfig) -> MethodConfig,
) -> Vec<Candidate> {
    let suits = |config: &MethodConfig| schema.n_classifiers() > 1 || !config.needs_several();
    MethodConfig::all()
        .filter(suits)
        .chain(meta_classifiers(schema))
        .map(|config| Candidate::new(adapt(&config)))
        .collect()
}

/// What to compare unless told otherwise: [`all_methods`] and pools with equal, greedy and
/// non-negative weights, without `correlated` unless its fits are quick on so many items: at most
/// 3000 pairs of classifiers × items × classes.
pub fn quick_methods(
    schema: &Schema,
    n_items: usize,
    adapt: impl Fn(&MethodConfig) -> MethodConfig,
) -> Vec<Candidate> {
    let k = schema.n_classifiers();
    let pairs = k * k.saturating_sub(1) / 2;
    let work = pairs.saturating_mul(n_items).saturating_mul(schema.n_classes());
    let mut candidates = all_methods(schema, &adapt);
    candidates.retain(|own| work <= CHEAP || !matches!(own.config, MethodConfig::Correlated(_)));
    let pool = |name: &str| {
        let config: MethodConfig = name.parse().ok()?;
        Some(Candidate { name: name.to_owned(), config: adapt(&config) })
    };
    candidates.extend(POOLS.into_iter().filter(|_| k > 1).filter_map(pool));
    candidates
}

/// The methods with the given names, each once, and every meta classifier. `adapt` changes the options
/// of each.
pub fn named_methods(
    schema: &Schema,
    names: &[String],
    adapt: impl Fn(&MethodConfig) -> MethodConfig,
) -> Result<Vec<Candidate>> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let metas = meta_classifiers(schema).map(|config| Candidate::new(adapt(&config)));
    let metas: Vec<Candidate> = metas.collect();
    for name in names {
        let config: MethodConfig = name.parse()?;
        config.classifier().map(|name| schema.require_classifier(name)).transpose()?;
        let known = candidates.iter().chain(&metas).any(|known| known.name == *name);
        if !known {
            candidates.push(Candidate { name: name.clone(), config: adapt(&config) });
        }
    }
    candidates.extend(metas);
    Ok(candidates)
}

fn meta_classifiers(schema: &Schema) -> impl Iterator<Item = MethodConfig> {
    schema.classifiers().iter().map(|name| Meta::of(name).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meta_classifier_is_a_candidate_and_no_candidate_is_repeated() {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        let names = |words: &[&str]| -> Result<Vec<String>> {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            Ok(named_methods(&schema, &words, Clone::clone)?.into_iter().map(|c| c.name).collect())
        };
        let got = names(&["stacking", "meta:b", "auto", "stacking"]).unwrap();
        assert_eq!(got, ["stacking", "auto", "meta:a", "meta:b"]);
        assert!(names(&["meta:c"]).is_err());
        assert!(names(&["nonsense"]).is_err());
        let all = all_methods(&schema, MethodConfig::at_mode);
        assert!(all.iter().any(|candidate| candidate.name == "correlated"));
        let names = |n| -> Vec<String> {
            let quick = quick_methods(&schema, n, MethodConfig::at_mode);
            quick.into_iter().map(|candidate| candidate.name).collect()
        };
        let (few, many) = (names(1_500), names(1_501)); // 1 pair × 1500 items × 2 classes
        assert_eq!((few.len(), many.len()), (all.len() + 3, all.len() + 2));
        assert!(few.contains(&"correlated".into()) && !many.contains(&"correlated".into()));
        assert!(many.contains(&"log-pool:non-negative".into()));
        let one = Schema::new(["a"], ["x", "y"]).unwrap();
        let alone = all_methods(&one, MethodConfig::at_mode);
        assert!(alone.iter().all(|candidate| !candidate.config.needs_several()));
        assert!(alone.iter().any(|candidate| candidate.name == "meta:a"));
    }
}
