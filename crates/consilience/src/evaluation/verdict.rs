//! The gain of `auto` in one sentence.

use super::constants::CLEAR;
use super::gain::{Baseline, Gain, SimilarPair};
use super::sample_mean::SampleMean;
use crate::error::quoted;

/// The comparison with the best single classifier and with simpler combinations, and the most
/// similar pair if there is one.
pub(super) fn verdict(gain: &Gain, n_classifiers: usize) -> String {
    let mut text = against_single(gain, n_classifiers);
    if n_classifiers > 1 && !gain.best_single.gain.se.is_nan() {
        text += &against_combinations(gain).unwrap_or_default();
    }
    if let Some(SimilarPair { between: (a, b), .. }) = gain.similar.first() {
        let others = match gain.similar.len() - 1 {
            0 => String::new(),
            1 => " (and 1 other pair)".to_owned(),
            n => format!(" (and {n} other pairs)"),
        };
        let interval = gain.effective_number_interval.map_or_else(String::new, |[low, high]| {
            format!(", 90 % interval {low:.1} to {high:.1}")
        });
        text += &format!(
            "; the sources {}{others} carry nearly the same evidence (effective number \
             {:.1}{interval})",
            quoted(&[a.clone(), b.clone()]),
            gain.effective_number
        );
    }
    text
}

/// At least two significant digits of the standard error, and a mean that is not shown as 0.
fn digits(SampleMean { mean, se }: SampleMean) -> usize {
    if se < 0.002 || mean.abs() < 0.0005 { 4 } else { 3 }
}

/// A difference without its sign.
fn size(difference: SampleMean) -> String {
    let (digits, SampleMean { mean, se }) = (digits(difference), difference);
    format!("{:.digits$} ± {se:.digits$} nats", mean.abs())
}

fn signed(difference: SampleMean) -> String {
    let (digits, SampleMean { mean, se }) = (digits(difference), difference);
    format!("{mean:+.digits$} ± {se:.digits$} nats")
}

fn is_gain(SampleMean { mean, se }: SampleMean) -> bool {
    mean > CLEAR * se
}

fn is_loss(SampleMean { mean, se }: SampleMean) -> bool {
    mean < -CLEAR * se
}

fn against_single(gain: &Gain, n_classifiers: usize) -> String {
    let Baseline { method, gain: difference, .. } = &gain.best_single;
    let name = match method.split_once(':') {
        Some(("meta" | "auto", name)) => format!("`{name}` recalibrated"),
        Some((_, name)) => format!("`{name}`"),
        None => method.clone(),
    };
    let (difference, n) = (*difference, gain.n_items);
    if difference.se.is_nan() {
        format!("the gain over {name} alone has no standard error: a class has a single item")
    } else if n_classifiers == 1 && is_gain(difference) {
        format!("recalibrating gains {} over the outputs of {name}", size(difference))
    } else if is_gain(difference) {
        let size = size(difference);
        format!(
            "fusing these {n_classifiers} sources gains {size} over the best single source, {name}"
        )
    } else if is_loss(difference) {
        format!(
            "fusing these {n_classifiers} sources loses {} against {name} alone on {n} items: use \
             {name} instead",
            size(difference)
        )
    } else {
        format!("no clear gain over {name} alone on {n} items ({})", signed(difference))
    }
}

/// The best simpler combination, or all that are level with `auto`.
fn against_combinations(gain: &Gain) -> Option<String> {
    let combinations = || gain.baselines.iter().filter(|baseline| baseline.single().is_none());
    let best = combinations().min_by(|a, b| a.log_loss.mean.total_cmp(&b.log_loss.mean))?;
    let mut level: Vec<&Baseline> = combinations().filter(|own| !is_gain(own.gain)).collect();
    level.sort_by(|a, b| a.log_loss.mean.total_cmp(&b.log_loss.mean));
    let names: Vec<String> =
        level.iter().map(|own| named(&own.method, Some(&signed(own.gain)))).collect();
    Some(match level.iter().find(|own| is_loss(own.gain)) {
        Some(better) => format!(
            "; {} is simpler and better by {}: use it instead",
            named(&better.method, None),
            size(better.gain)
        ),
        None if level.is_empty() => {
            format!(
                "; over the best simpler combination, {}, `{}` gains {}",
                named(&best.method, None),
                gain.method,
                size(best.gain)
            )
        }
        None => format!(
            "; `{}` is not clearly better than simpler combinations: {}",
            gain.method,
            names.join(", ")
        ),
    })
}

/// A combination in words, with its name as a method and what else stands in brackets.
fn named(method: &str, detail: Option<&str>) -> String {
    let (name, code) = match method {
        "average" => ("the average", Some("`linear-pool:equal`")),
        "geometric-pool" => ("the geometric pool", Some("`log-pool:equal`")),
        "linear-pool:greedy" => ("greedy selection", Some("`linear-pool:greedy`")),
        "log-pool:non-negative" => ("the non-negative log pool", Some("`log-pool:non-negative`")),
        other => (other, None),
    };
    let name = if code.is_none() { format!("`{name}`") } else { name.to_owned() };
    let brackets: Vec<&str> = code.into_iter().chain(detail).collect();
    if brackets.is_empty() { name } else { format!("{name} ({})", brackets.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(combinations: &[(&str, f64, f64)]) -> Gain {
        let baseline = |(method, mean, se): (&str, f64, f64)| Baseline {
            method: method.into(),
            log_loss: SampleMean { mean: 0.5 + mean, se: 0.01 },
            gain: SampleMean { mean, se },
        };
        let best_single = baseline(("classifier:a", 0.1, 0.01));
        let mut baselines: Vec<Baseline> = combinations.iter().copied().map(baseline).collect();
        baselines.push(best_single.clone());
        Gain {
            method: "auto".into(),
            n_items: 100,
            sampled_from: None,
            folds: 10,
            log_loss: SampleMean { mean: 0.5, se: 0.01 },
            baselines,
            best_single,
            effective_number: 2.0,
            effective_number_interval: None,
            similar: Vec::new(),
            verdict: String::new(),
        }
    }

    #[test]
    fn the_effective_number_has_its_interval() {
        let between = ("a".to_owned(), "b".to_owned());
        let similar = vec![SimilarPair { between, correlation: 0.95 }];
        let plain = Gain { similar, ..gain(&[("average", 0.1, 0.01)]) };
        assert!(verdict(&plain, 3).ends_with("(effective number 2.0)"), "{}", verdict(&plain, 3));
        let text = verdict(&Gain { effective_number_interval: Some([1.42, 2.61]), ..plain }, 3);
        assert!(text.ends_with("(effective number 2.0, 90 % interval 1.4 to 2.6)"), "{text}");
    }

    /// Two standard errors decide; what is simpler and level or better is named.
    #[test]
    fn the_sentence_names_simpler_combinations_that_are_level_or_better() {
        let ahead = verdict(&gain(&[("average", 0.05, 0.01), ("stacking", 0.0301, 0.015)]), 2);
        assert!(
            ahead.contains("the best simpler combination, `stacking`, `auto` gains 0.030 ± 0.015"),
            "{ahead}"
        );
        let level = verdict(&gain(&[("average", 0.029, 0.015), ("stacking", 0.05, 0.01)]), 2);
        assert!(
            level.contains("not clearly better than simpler combinations: the average"),
            "{level}"
        );
        assert!(!level.contains("stacking"), "{level}");
        let german = verdict(&gain(&[("average", -0.0153, 0.0049), ("stacking", 0.001, 0.01)]), 2);
        assert!(
            german.contains(
                "the average (`linear-pool:equal`) is simpler and better by 0.015 ± 0.005"
            ),
            "{german}"
        );
        let both = verdict(&gain(&[("average", -0.004, 0.003), ("stacking", 0.001, 0.01)]), 2);
        assert!(
            both.contains("the average (`linear-pool:equal`, -0.004 ± 0.003 nats), `stacking` (+0.001 ± 0.010 nats)"),
            "{both}"
        );
        assert_eq!(verdict(&gain(&[("average", -1.0, 0.1)]), 1).find("average"), None);
    }
}
