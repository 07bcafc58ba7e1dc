//! Fits of the methods that the correlated model is compared with.

use super::{FitConfig, Method, Model, Training};
use crate::data::outputs::Outputs;
use crate::error::Result;
use crate::progress::Progress;

impl FitConfig {
    pub(super) fn fit_logit_normal(
        &self,
        outputs: &Outputs,
        mut training: Training,
    ) -> Result<Model> {
        let fitted = self.logit_normal.fit(outputs)?;
        training.warnings = fitted.warnings;
        self.model(Method::LogitNormal(fitted.fusion), training)
    }

    pub(super) fn fit_normal_mixture(
        &self,
        outputs: &Outputs,
        mut training: Training,
        progress: &dyn Progress,
    ) -> Result<Model> {
        let fitted = self.normal_mixture.fit(outputs, progress)?;
        training.warnings = fitted.warnings;
        self.model(Method::NormalMixture(fitted.fusion), training)
    }

    pub(super) fn fit_bcc(&self, outputs: &Outputs, training: Training) -> Result<Model> {
        training.statistics.require_all(outputs.schema())?;
        self.model(Method::Bcc(self.bcc.fit(outputs)?), training)
    }
}
