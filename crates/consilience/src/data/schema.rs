//! Names of the classifiers and classes of a table or model.

use std::collections::HashSet;

use crate::error::{Error, Result, quoted};

/// The classifiers (sources) and classes of a data set or model, in order.
///
/// # Example
/// ```
/// use consilience::Schema;
/// let schema = Schema::new(["resnet", "vit"], ["cat", "dog", "fox"])?;
/// assert_eq!((schema.n_classifiers(), schema.n_classes()), (2, 3));
/// assert_eq!(schema.class_index("fox"), Some(2));
/// # Ok::<(), consilience::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    classifiers: Vec<String>,
    classes: Vec<String>,
}

impl Schema {
    /// Creates a schema; there must be at least one classifier and two classes, and no name may be
    /// empty or occur twice.
    pub fn new<K, J>(classifiers: K, classes: J) -> Result<Self>
    where
        K: IntoIterator<Item: Into<String>>,
        J: IntoIterator<Item: Into<String>>,
    {
        let classifiers: Vec<String> = classifiers.into_iter().map(Into::into).collect();
        let classes: Vec<String> = classes.into_iter().map(Into::into).collect();
        check_names("classifier", &classifiers)?;
        check_names("class", &classes)?;
        if classifiers.is_empty() {
            return Err(Error::InvalidNames("there is no classifier".into()));
        }
        if classes.len() < 2 {
            return Err(Error::InvalidNames(format!(
                "at least two classes are needed, found {}",
                quoted(&classes)
            )));
        }
        Ok(Self { classifiers, classes })
    }

    /// Names of the classifiers.
    pub fn classifiers(&self) -> &[String] {
        &self.classifiers
    }

    /// Names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Number of classifiers, K.
    pub fn n_classifiers(&self) -> usize {
        self.classifiers.len()
    }

    /// Number of classes, J.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Number of values per item, K·J.
    pub fn width(&self) -> usize {
        self.n_classifiers() * self.n_classes()
    }

    /// Index of a class.
    pub fn class_index(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class == name)
    }

    /// Index of a classifier.
    pub fn classifier_index(&self, name: &str) -> Option<usize> {
        self.classifiers.iter().position(|classifier| classifier == name)
    }

    /// The index of a classifier; an error lists the known ones.
    pub(crate) fn require_classifier(&self, name: &str) -> Result<usize> {
        self.classifier_index(name).ok_or_else(|| {
            Error::mismatch("classifiers", format!("`{name}`"), quoted(&self.classifiers))
        })
    }

    /// The schema of a single classifier with the same classes.
    #[must_use]
    pub fn only(&self, classifier: usize) -> Self {
        Self {
            classifiers: vec![self.classifiers[classifier].clone()],
            classes: self.classes.clone(),
        }
    }
}

fn check_names(kind: &str, names: &[String]) -> Result<()> {
    let mut seen = HashSet::with_capacity(names.len());
    for (i, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::InvalidNames(format!("{kind} {} has an empty name", i + 1)));
        }
        if !seen.insert(name) {
            return Err(Error::InvalidNames(format!("{kind} `{name}` is named twice")));
        }
    }
    Ok(())
}
