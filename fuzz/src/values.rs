//! Values of the command line: names and options of methods, class priors, numbers and words.

use consilience::{MethodConfig, PriorChoice};
use serde_json::Value;

/// One value per line: a method, a class prior, then pairs of an option and its value.
pub(crate) fn values(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let (method, prior) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    if let Ok(prior) = prior.parse::<PriorChoice>() {
        let again = prior.to_string().parse::<PriorChoice>();
        assert!(again.is_ok() || prior.to_string().contains("NaN"), "{prior}");
        let classes = ["x".to_owned(), "y".to_owned()];
        if let Ok(prior) = prior.resolve(&classes, Some(&[1.0, 2.0])) {
            let sum: f64 = prior.probabilities().iter().sum();
            assert!((sum - 1.0).abs() < 1e-9);
        }
    }
    let config = match method.parse::<MethodConfig>() {
        Ok(config) => config,
        Err(error) => return drop(error.to_string()),
    };
    while let (Some(option), Some(value)) = (lines.next(), lines.next()) {
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        match config.with_option(option, value) {
            Ok(config) => assert_eq!(config.name(), method),
            Err(error) => drop(error.to_string()),
        }
    }
}
