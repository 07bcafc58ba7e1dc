//! Checks that the parts of a model file have the shape of the model.

use std::sync::Arc;

use super::{Model, Settings};
use crate::data::input_format::InputFormat;
use crate::error::{Error, Result};
use crate::methods::independent::{Alpha, IndependentFusion, SufficientStatistics};

impl Model {
    /// Checks training facts, diagnostics and draws once, so that later code can rely on them.
    pub(super) fn check_consistency(&self) -> Result<()> {
        if let Some(Settings { floor, .. }) = self.settings {
            InputFormat { floor, ..InputFormat::default() }
                .check(self.schema.n_classes())
                .map_err(|error| Error::model(format!("`settings`: {error}")))?;
        }
        self.check_training()?;
        if let Some(report) = &self.posterior {
            // The standard deviations have the shape of the concentrations and are positive, too.
            let place = |error: Error| Error::model(format!("`diagnostics.alpha_sd`: {error}"));
            self.like_alpha(&report.alpha_sd).map_err(place)?;
        }
        for (i, pair) in self.pair_posteriors.iter().enumerate() {
            let n = self.schema.n_classes();
            let fits = self.are_known(&pair.between)
                && is_square(&pair.delta.delta_sd, n)
                && is_square(&pair.delta.delta_interval, n);
            if !fits {
                return Err(misfit(&format!("pair_diagnostics[{i}]")));
            }
        }
        if let Some(report) = &self.shared_posterior {
            let (n, parts) = (self.schema.n_classes(), self.method.fitted().n_shared_parts());
            let fits = report.sd.len() == parts
                && report.interval.len() == parts
                && report.sd.iter().all(|rows| is_square(rows, n))
                && report.interval.iter().all(|rows| is_square(rows, n));
            if !fits {
                return Err(misfit("shared_diagnostics"));
            }
        }
        self.check_draws()
    }

    fn check_training(&self) -> Result<()> {
        let Some(training) = &self.training else { return Ok(()) };
        // Merging refuses other shapes.
        let mut empty = SufficientStatistics::empty(&self.schema);
        empty.merge(&training.statistics).map_err(Error::model)?;
        if !training.unlabelled.fits(self.schema.n_classes()) {
            return Err(misfit("training.unlabelled"));
        }
        let covariance = training.evidence_covariance.as_ref();
        if covariance.is_some_and(|c| c.n_classifiers() != self.schema.n_classifiers()) {
            return Err(Error::model(
                "`training.evidence_covariance` does not fit the classifiers",
            ));
        }
        let intervals = training.insight_intervals.as_ref();
        if intervals.is_some_and(|own| !own.fits(self.schema.n_classifiers())) {
            return Err(Error::model("`training.insight_intervals` does not fit the classifiers"));
        }
        for (i, pair) in training.observed_correlations.iter().enumerate() {
            let n = self.schema.n_classes();
            let fits = pair.items.len() == n
                && is_square(&pair.correlation, n)
                && (pair.interval.is_empty() || is_square(&pair.interval, n));
            if !(fits && self.are_known(&pair.between)) {
                return Err(misfit(&format!("training.observed_correlations[{i}]")));
            }
        }
        Ok(())
    }

    fn check_draws(&self) -> Result<()> {
        for (i, draw) in self.draws.iter().enumerate() {
            let locate = |error: Error| Error::model(format!("`draws[{i}]`: {error}"));
            self.method.fitted().check_draw(draw).map_err(locate)?;
        }
        Ok(())
    }

    fn like_alpha(&self, values: &Alpha) -> Result<()> {
        IndependentFusion::new(Arc::clone(&self.schema), values.clone()).map(|_| ())
    }

    fn are_known(&self, names: &[String]) -> bool {
        names.iter().all(|name| self.schema.classifier_index(name).is_some())
    }
}

fn misfit(place: &str) -> Error {
    Error::model(format!("`{place}` does not fit the classifiers and classes"))
}

fn is_square<T>(rows: &[Vec<T>], n: usize) -> bool {
    rows.len() == n && rows.iter().all(|row| row.len() == n)
}
