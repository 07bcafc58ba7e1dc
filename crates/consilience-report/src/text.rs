//! Sentences of the report.

use consilience::evaluation::{Gain, SampleMean};

use crate::agreement::Agreement;
use crate::cases::Case;
use crate::labelled::Labelled;
use crate::redundancy::Redundancy;
use crate::report::{Note, Study};

/// Smallest evidence, in nats, that an explanation names.
const SMALL: f64 = 0.05;

/// Fewest labelled items for which there is no note on their number.
const FEW: u64 = 30;

/// A result as sentences. Semicolons separate them, except in names between backticks.
pub(crate) fn sentences(text: &str) -> String {
    let (mut found, mut is_name, mut starts) = (String::new(), false, true);
    for letter in text.chars() {
        is_name ^= letter == '`';
        match letter {
            ';' if !is_name => {
                found.push('.');
                starts = true;
                continue;
            }
            letter if starts && !is_name => found.extend(letter.to_uppercase()),
            letter => found.push(letter),
        }
        starts &= letter.is_whitespace();
    }
    found + "."
}

/// A number with its noun.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// Names of things as a list, in the notation of code.
pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

pub(crate) fn title(study: &Study<'_>) -> String {
    let sources = counted(study.sources().len(), "source");
    match &study.options.data {
        Some(data) => format!("{sources} on {data}"),
        None => format!("{sources}, {} classes", study.classes().len()),
    }
}

/// The verdict on the items of the fit, on which methods with many parameters look best.
pub(crate) const ON_TRAINING_ITEMS: &str = "The model was fitted to these items, so their scores do not show what fusing gains. Use other \
     items, or `compare`, which scores methods by cross-validation.";

/// What fusing gains: the verdict of the evaluation, and the average and stacking where it does not
/// name them.
pub(crate) fn labelled_verdict(gain: &Gain) -> String {
    let mut text = gain.verdict.clone();
    for (method, named, name) in
        [("average", "the average (", "the average"), ("stacking", "`stacking`", "`stacking`")]
    {
        let found = gain.baselines.iter().find(|baseline| baseline.method == method);
        if let Some(SampleMean { mean, se }) = found.map(|own| own.gain)
            && !text.contains(named)
            && !se.is_nan()
        {
            text += &format!("; the gain over {name} is {mean:.3} ± {se:.3} nats");
        }
    }
    sentences(&text)
}

/// What can be said without labels.
pub(crate) fn unlabelled_verdict(
    study: &Study<'_>,
    agreement: &Agreement,
    redundancy: Option<&Redundancy>,
) -> String {
    let n = study.n_items();
    let sources = counted(study.sources().len(), "source");
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let mut text = if agreement.unanimous.is_nan() {
        format!("No item has outputs of two sources among {}", counted(n, "item"))
    } else {
        format!(
            "The {sources} name the same class for {} of {}",
            percent(agreement.unanimous),
            counted(n, "item")
        )
    };
    text += &format!(
        "; the fused result names another class than the average for {}",
        percent(agreement.against_average)
    );
    if let Some(found) = redundancy {
        text +=
            &format!("; the evidence is that of {:.1} independent sources", found.effective_number);
    }
    sentences(&text)
}

/// What a reader should know before reading on.
pub(crate) fn notes(study: &Study<'_>, labelled: Option<&Labelled>) -> Vec<Note> {
    let mut notes = Vec::new();
    if study.is_training {
        notes.push(Note::warning(
            "The model was fitted to these items, so all scores on this page are optimistic. Use \
             items that the model has not seen.",
        ));
    }
    let n_labelled = study.outputs.n_labelled() as u64;
    if labelled.is_none() {
        notes.push(Note::info(
            "No item has a label. The page shows what can be said without labels: it does not show \
             whether the fused result is right.",
        ));
    } else if n_labelled < FEW {
        notes.push(Note::warning(format!(
            "Only {n_labelled} items have a label: all scores are rough."
        )));
    }
    if let Some(labelled) = labelled {
        let missing: Vec<&str> = study
            .classes()
            .iter()
            .zip(&labelled.scores.class_counts)
            .filter(|(_, n)| **n == 0)
            .map(|(class, _)| class.as_str())
            .collect();
        if !missing.is_empty() {
            notes
                .push(Note::warning(format!("No labelled item is of class {}.", listed(&missing))));
        }
    }
    let warnings = study.model.training().map_or(&[][..], |training| &training.warnings);
    notes.extend(warnings.iter().map(|warning| {
        Note::warning(format!("The fit reported: {}.", warning.message.trim_end_matches('.')))
    }));
    notes
}

/// The explanation of one item.
pub(crate) fn explanation(study: &Study<'_>, case: &Case) -> String {
    let name = |class: usize| format!("`{}`", study.classes()[class]);
    let [first, second] = case.versus;
    let fused = study.fused.probabilities(case.item);
    let mut text = format!(
        "The fused result gives {} to {} and {} to {}.",
        probability(fused[first]),
        name(first),
        probability(fused[second]),
        name(second)
    );
    if let Some(label) = case.label.filter(|label| *label != case.predicted) {
        text += &format!(" The true class is {}.", name(label));
    }
    for (class, sign) in [(first, 1.0), (second, -1.0)] {
        let own = case.sources.iter().filter(|source| source.evidence * sign >= SMALL).take(3);
        let mut parts: Vec<String> = own
            .map(|source| {
                let size = source.evidence * sign;
                format!("`{}` ({size:.2} nats)", study.sources()[source.source])
            })
            .collect();
        if case.shared * sign >= SMALL {
            parts.push(format!("several sources together ({:.2} nats)", case.shared * sign));
        }
        if let Some((last, rest)) = parts.split_last() {
            let list = if rest.is_empty() {
                last.clone()
            } else {
                format!("{} and {last}", rest.join(", "))
            };
            text += &format!(" Evidence for {} comes from {list}.", name(class));
        }
    }
    text
}

/// A probability with enough digits to differ from 0 and 1.
fn probability(p: f64) -> String {
    match p {
        p if p < 0.0005 => "less than 0.001".into(),
        p if p > 0.9995 => "more than 0.999".into(),
        p => format!("{p:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_end_sentences_but_not_names() {
        let text = "fusing gains 0.1 nats; `auto; b` is better; no source guesses";
        let expected = "Fusing gains 0.1 nats. `auto; b` is better. No source guesses.";
        assert_eq!(sentences(text), expected);
    }
}
