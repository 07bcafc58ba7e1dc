//! The options of all methods as options of the command line, made from the library's list.

use std::fmt::Write as _;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use consilience::MethodConfig;
use consilience::methods::MethodInfo;
use serde_json::{Map, Value};

/// The options of methods that were given, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct MethodOptions {
    given: Map<String, Value>,
}

/// The heading of these options in the help.
const HEADING: &str = "Options of methods";

/// An option of every method, set by the common option `--seed`.
const SEED: &str = "seed";

impl MethodOptions {
    /// A method with those of the given options that it has; the names of the others.
    pub(crate) fn config(
        &self,
        method: &MethodConfig,
        seed: u64,
    ) -> consilience::Result<(MethodConfig, Vec<String>)> {
        let mut config = method.with_seed(seed);
        let mut without_effect = Vec::new();
        for (name, value) in &self.given {
            if config.descriptions().iter().any(|option| option.name == name) {
                config = config.with_option(name, value.clone())?;
            } else {
                without_effect.push(name.clone());
            }
        }
        Ok((config, without_effect))
    }
}

/// The methods that have an option, in the order of the list.
pub(crate) fn methods_with(option: &str) -> impl Iterator<Item = &'static MethodInfo> {
    let has = move |info: &&MethodInfo| info.options.iter().any(|known| known.name == option);
    MethodConfig::LIST.iter().filter(has)
}

/// The names of all options but the seed, each once.
fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for option in MethodConfig::LIST.iter().flat_map(|info| info.options) {
        if option.name != SEED && !names.contains(&option.name) {
            names.push(option.name);
        }
    }
    names
}

/// A name as on the command line.
pub(crate) fn flag(name: &str) -> String {
    name.replace('_', "-")
}

fn arg(name: &'static str) -> Arg {
    let descriptions: Vec<_> = methods_with(name)
        .flat_map(|info| info.options.iter().filter(|option| option.name == name))
        .collect();
    let mut choices: Vec<(&str, &str)> = Vec::new();
    for choice in descriptions.iter().flat_map(|option| option.choices) {
        if choices.iter().all(|known| known.0 != choice.0) {
            choices.push(*choice);
        }
    }
    let arg = Arg::new(name)
        .long(flag(name))
        .help(help(name, descriptions[0].help))
        .help_heading(HEADING)
        .value_name("VALUE")
        .allow_hyphen_values(true)
        .conflicts_with("update");
    if choices.is_empty() {
        return arg;
    }
    let values = choices.into_iter().map(|(name, help)| PossibleValue::new(name).help(help));
    arg.value_parser(PossibleValuesParser::new(values))
}

/// The description with the methods that have the option and their defaults.
fn help(name: &'static str, description: &str) -> String {
    let methods: Vec<&str> = methods_with(name).map(|info| info.name).collect();
    let mut text = format!("{description} For {}.", methods.join(", "));
    let mut defaults: Vec<(String, Vec<&str>)> = Vec::new();
    for info in methods_with(name) {
        let Some(value) = default_of(info, name) else { continue };
        match defaults.iter_mut().find(|(known, _)| *known == value) {
            Some((_, methods)) => methods.push(info.name),
            None => defaults.push((value, vec![info.name])),
        }
    }
    defaults.sort_by_key(|(_, methods)| std::cmp::Reverse(methods.len()));
    if let Some(((usual, _), others)) = defaults.split_first() {
        let _ = write!(text, " [default: {usual}");
        for (value, methods) in others {
            let _ = write!(text, "; {value} for {}", methods.join(", "));
        }
        text.push(']');
    }
    text
}

fn default_of(info: &MethodInfo, option: &str) -> Option<String> {
    let config = MethodConfig::default_of(info.name)?;
    match config.option(option)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        // 2 instead of 2.0.
        Value::Number(number) => Some(number.as_f64()?.to_string()),
        other => Some(other.to_string()),
    }
}

/// A number, a list of numbers or a word.
fn value_of(text: &str) -> Value {
    let number = |cell: &str| -> Option<Value> {
        let cell = cell.trim();
        let whole = cell.parse::<u64>().map(Value::from);
        whole.or_else(|_| cell.parse::<i64>().map(Value::from)).ok().or_else(|| {
            cell.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
        })
    };
    if let Some(value) = number(text) {
        return value;
    }
    let list: Option<Vec<Value>> = text.split(',').map(number).collect();
    list.map_or_else(|| Value::from(text), Value::Array)
}

impl Args for MethodOptions {
    fn augment_args(command: Command) -> Command {
        names().into_iter().fold(command, |command, name| command.arg(arg(name)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MethodOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = names().into_iter().filter_map(|name| {
            let text = matches.get_one::<String>(name)?;
            Some((name.to_owned(), value_of(text)))
        });
        Ok(Self { given: given.collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_numbers_lists_or_words() {
        for (text, value) in [
            ("3", json!(3)),
            ("0.03", json!(0.03)),
            ("-1e-3", json!(-1e-3)),
            ("0.5,1, 2", json!([0.5, 1, 2])),
            ("simplex", json!("simplex")),
            ("1,x", json!("1,x")),
            ("nan", json!("nan")),
        ] {
            assert_eq!(value_of(text), value, "{text}");
        }
    }

    #[test]
    fn help_names_methods_and_defaults() {
        let text = help("draws", "Draws per chain.");
        assert!(
            text.contains("correlated, independent, discounted, normal-mixture, meta"),
            "{text}"
        );
        assert!(text.contains("[default: 1000; 4 for normal-mixture]"), "{text}");
    }
}
