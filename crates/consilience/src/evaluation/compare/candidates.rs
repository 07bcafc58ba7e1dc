//! The methods of a comparison.

use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::methods::correlated::learning::CorrelatedInference;
use crate::methods::independent::Inference;
use crate::model::{FitConfig, MethodChoice};

/// A method with its options, to be compared under a name of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Name of its row.
    pub name: String,
    /// Options of the fit; the comparison sets the class prior.
    pub config: FitConfig,
}

/// Methods that need at least two classifiers.
const NEED_TWO_CLASSIFIERS: [MethodChoice; 2] =
    [MethodChoice::Correlated, MethodChoice::Discounted];

/// The same options with posterior modes instead of full posteriors: predictions are nearly the
/// same, and a comparison takes seconds instead of minutes.
#[must_use]
pub fn by_mode(config: &FitConfig) -> FitConfig {
    let mut config = config.clone();
    config.independent.inference = Inference::Map;
    config.correlated.independent.inference = Inference::Map;
    config.correlated.inference = CorrelatedInference::Map;
    config
}

/// All methods that can fuse these classifiers, and every meta classifier.
pub fn all_methods(schema: &Schema, config: &FitConfig) -> Vec<Candidate> {
    let suits = |method: &MethodChoice| {
        schema.n_classifiers() > 1 || !NEED_TWO_CLASSIFIERS.contains(method)
    };
    MethodChoice::named()
        .filter(suits)
        .map(|method| Candidate {
            name: method.to_string(),
            config: FitConfig { method, ..config.clone() },
        })
        .chain(meta_classifiers(schema, config))
        .collect()
}

/// The methods with the given names, and every meta classifier.
pub fn named_methods(
    schema: &Schema,
    names: &[String],
    config: &FitConfig,
) -> Result<Vec<Candidate>> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let metas = meta_classifiers(schema, config);
    for name in names {
        let method: MethodChoice = name.parse()?;
        if let MethodChoice::Meta(classifier) = &method
            && schema.classifier_index(classifier).is_none()
        {
            return Err(Error::Mismatch {
                what: "classifiers",
                expected: format!("`{classifier}`"),
                found: crate::error::quoted(schema.classifiers()),
            });
        }
        let known = candidates.iter().chain(&metas).any(|known| known.name == *name);
        if !known {
            let config = FitConfig { method, ..config.clone() };
            candidates.push(Candidate { name: name.clone(), config });
        }
    }
    candidates.extend(metas);
    Ok(candidates)
}

fn meta_classifiers(schema: &Schema, config: &FitConfig) -> Vec<Candidate> {
    let meta = |classifier: &String| Candidate {
        name: format!("meta:{classifier}"),
        config: FitConfig { method: MethodChoice::Meta(classifier.clone()), ..config.clone() },
    };
    schema.classifiers().iter().map(meta).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meta_classifier_is_a_candidate_and_no_candidate_is_repeated() {
        let schema = Schema::new(["a", "b"], ["x", "y"]).unwrap();
        let config = FitConfig::default();
        let names = |words: &[&str]| -> Result<Vec<String>> {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            Ok(named_methods(&schema, &words, &config)?.into_iter().map(|c| c.name).collect())
        };
        let got = names(&["stacking", "meta:b", "auto", "stacking"]).unwrap();
        assert_eq!(got, ["stacking", "auto", "meta:a", "meta:b"]);
        assert!(names(&["meta:c"]).is_err());
        assert!(names(&["nonsense"]).is_err());
        let all = all_methods(&schema, &config);
        assert!(all.iter().any(|candidate| candidate.name == "correlated"));
        let one = Schema::new(["a"], ["x", "y"]).unwrap();
        let alone = all_methods(&one, &config);
        assert!(
            alone.iter().all(|candidate| !NEED_TWO_CLASSIFIERS.contains(&candidate.config.method))
        );
        assert!(alone.iter().any(|candidate| candidate.name == "meta:a"));
    }
}
