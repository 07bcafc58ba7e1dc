//! Coverage of the intervals of shares, influence, effective number and correlations of evidence.

use std::sync::Arc;

use consilience::methods::independent::{Alpha, IndependentFusion, SufficientStatistics};
use consilience::methods::shares::{EvidenceCovariance, InsightIntervals, insight_intervals};
use consilience::simulation::Truth;
use consilience::{ClassPrior, NoProgress, Outputs, Result};
use consilience_numerics::parallel;
use correlated_dirichlet::{CorrelatedDirichlet, SharedPair};

use super::{alpha_of, mean, schema};

/// Items per class for the true values.
const LARGE: usize = 200_000;

/// Margins and shared parts of some classifiers.
struct Design {
    name: &'static str,
    /// α of the true class and of the others, for every classifier.
    margins: Vec<[f64; 2]>,
    n_classes: usize,
    /// The fraction of the smallest α that all share, and that the first two share beside it.
    shared: [f64; 2],
    /// Of so many items in a row, the first lack one output each; 0 if no output is missing.
    period: usize,
    items_per_class: &'static [usize],
}

fn designs() -> Vec<Design> {
    let design = |name, margins: &[[f64; 2]], n_classes, shared, items_per_class| Design {
        name,
        margins: margins.to_vec(),
        n_classes,
        shared,
        period: 0,
        items_per_class,
    };
    let judges = [[5.0, 2.0]; 6];
    let uneven = [[12.0, 8.0], [6.0, 4.0], [3.0, 2.0]];
    vec![
        design("six independent", &judges, 2, [0.0, 0.0], &[20, 100, 500]),
        design("six sharing half", &judges, 2, [0.5, 0.0], &[20, 100, 500]),
        design("three sharing half", &[[12.0, 8.0]; 3], 3, [0.5, 0.0], &[20, 100, 500, 2000]),
        design("three sharing 0.9", &[[12.0, 8.0]; 3], 3, [0.9, 0.0], &[20, 100, 500]),
        design("two of three", &[[12.0, 8.0]; 3], 3, [0.0, 0.7], &[20, 100, 500]),
        design("uneven sharing half", &uneven, 3, [0.5, 0.0], &[20, 100, 500]),
        Design {
            period: 10,
            ..design("30 % of items lack one", &[[12.0, 8.0]; 3], 3, [0.5, 0.0], &[20, 100, 500])
        },
    ]
}

impl Design {
    fn truth(&self) -> Result<Truth> {
        let class = |j: usize| {
            let row = |[own, other]: &[f64; 2]| -> Vec<f64> {
                (0..self.n_classes).map(|l| if l == j { *own } else { *other }).collect()
            };
            let alpha: Vec<Vec<f64>> = self.margins.iter().map(row).collect();
            let smallest: Vec<f64> = (0..self.n_classes)
                .map(|l| alpha.iter().map(|row| row[l]).fold(f64::INFINITY, f64::min))
                .collect();
            let part = |share: f64| smallest.iter().map(|a| share * a).collect::<Vec<f64>>();
            let pair = SharedPair { first: 0, second: 1, delta: part(self.shared[1]) };
            let pairs = if self.shared[1] > 0.0 { vec![pair] } else { Vec::new() };
            CorrelatedDirichlet::new(alpha, Some(part(self.shared[0])), pairs)
        };
        let classes = (0..self.n_classes)
            .map(class)
            .collect::<Result<Vec<_>, correlated_dirichlet::Error>>()?;
        Truth::new(schema(self.margins.len(), self.n_classes)?, classes)
    }

    /// Simulated outputs, some of them missing in a fixed pattern.
    fn draw(&self, truth: &Truth, items: usize, seed: u64) -> Result<Outputs> {
        let outputs = truth.simulate(items, seed)?;
        if self.period == 0 {
            return Ok(outputs);
        }
        let mut builder = consilience::OutputsBuilder::new(
            Arc::clone(outputs.schema()),
            consilience::InputFormat::default(),
        )?;
        for (item, label) in outputs.require_labels()?.into_iter().enumerate() {
            let output = |k: usize| {
                // Of ten items the first three lack one classifier each.
                let output = outputs.output(item, k).expect("simulated outputs are complete");
                let lacks = item % self.period == k;
                output.iter().map(move |x| if lacks { f64::NAN } else { *x })
            };
            let row: Vec<f64> = (0..self.margins.len()).flat_map(output).collect();
            builder.push(&row, Some(&outputs.schema().classes()[label]))?;
        }
        Ok(builder.finish())
    }
}

/// Numbers that a model reports, or their intervals.
struct Numbers<T> {
    effective: Vec<T>,
    shares: Vec<T>,
    influences: Vec<T>,
    correlations: Vec<T>,
}

impl<T> Numbers<T> {
    fn parts(&self) -> [(&'static str, &Vec<T>); 4] {
        [
            ("effective number", &self.effective),
            ("share", &self.shares),
            ("influence", &self.influences),
            ("correlation", &self.correlations),
        ]
    }
}

fn numbers(outputs: &Outputs, alpha: &Alpha, prior: &ClassPrior) -> Result<Numbers<f64>> {
    let covariance = EvidenceCovariance::of(outputs, alpha, &NoProgress)?;
    let shares = covariance.divided_shares();
    let fusion = IndependentFusion::new(Arc::clone(outputs.schema()), alpha.clone())?;
    let strengths = fusion.strengths(prior)?;
    let pairs = (0..shares.len()).flat_map(|k| (0..k).map(move |m| (k, m)));
    Ok(Numbers {
        effective: vec![covariance.effective_number()],
        influences: strengths.iter().zip(&shares).map(|(s, w)| s * w).collect(),
        correlations: pairs.map(|(k, m)| covariance.correlation(k, m)).collect(),
        shares,
    })
}

fn ends(intervals: InsightIntervals) -> Numbers<[f64; 2]> {
    let n = intervals.shares.len();
    let pairs = (0..n).flat_map(|k| (0..k).map(move |m| (k, m)));
    Numbers {
        effective: vec![intervals.effective_number],
        correlations: pairs.map(|(k, m)| intervals.correlation[k][m]).collect(),
        shares: intervals.shares,
        influences: intervals.influence.unwrap_or_default(),
    }
}

/// Two levels of intervals, the range of independent classifiers, and the estimates.
type Replication = ([Numbers<[f64; 2]>; 2], [f64; 2], Numbers<f64>);

const LEVELS: [f64; 2] = [0.9, 0.95];

fn replication(design: &Design, truth: &Truth, items: usize, seed: u64) -> Result<Replication> {
    let outputs = design.draw(truth, items, seed)?;
    let prior = ClassPrior::uniform(design.n_classes);
    let statistics = SufficientStatistics::of(&outputs)?;
    let fitted = IndependentFusion::at_mode(Arc::clone(outputs.schema()), &statistics)?;
    let covariance = EvidenceCovariance::of(&outputs, fitted.alpha(), &NoProgress)?;
    let at = |level| {
        let prior = Some(&prior);
        insight_intervals(level, &outputs, &covariance, fitted.alpha(), prior, &NoProgress)
            .map(|found| found.expect("the table is small"))
    };
    let [narrow, wide] = LEVELS.map(at);
    let (narrow, wide) = (narrow?, wide?);
    let independent = narrow.independent;
    let found = numbers(&outputs, fitted.alpha(), &prior)?;
    Ok(([ends(narrow), ends(wide)], independent, found))
}

/// Coverage over `replications` simulated tables of every design.
pub(super) fn run(replications: usize) -> Result<()> {
    println!("design,items,quantity,truth,mean_estimate,coverage_90,coverage_95,mean_width_90");
    for design in designs() {
        let truth = design.truth()?;
        let prior = ClassPrior::uniform(design.n_classes);
        let expected = numbers(&truth.simulate(LARGE, 1)?, &alpha_of(&truth), &prior)?;
        for &items in design.items_per_class {
            let all = parallel::map(replications, |r| {
                replication(&design, &truth, items, 1000 + r as u64)
            });
            let all = all.into_iter().collect::<Result<Vec<_>>>()?;
            print(&design, items * design.n_classes, &expected, &all);
        }
    }
    Ok(())
}

fn print(design: &Design, items: usize, expected: &Numbers<f64>, all: &[Replication]) {
    for (part, (quantity, truth)) in expected.parts().into_iter().enumerate() {
        let covers = |level: usize| {
            let hits = all.iter().flat_map(|(intervals, ..)| {
                let own = intervals[level].parts()[part].1.iter().zip(truth);
                own.map(|([low, high], t)| f64::from(u8::from(low <= t && t <= high)))
            });
            mean(&hits.collect::<Vec<f64>>())
        };
        let widths = all.iter().flat_map(|(intervals, ..)| intervals[0].parts()[part].1);
        let width = mean(&widths.map(|[low, high]| high - low).collect::<Vec<f64>>());
        let estimates = all.iter().flat_map(|(.., found)| found.parts()[part].1).copied();
        let estimate = mean(&estimates.collect::<Vec<f64>>());
        println!(
            "{},{items},{quantity},{:.3},{estimate:.3},{:.3},{:.3},{width:.3}",
            design.name,
            mean(truth),
            covers(0),
            covers(1)
        );
    }
    // How often independent classifiers are within the range that is stated for them.
    if design.shared == [0.0; 2] {
        let within = |(_, [low, high], found): &Replication| {
            f64::from(u8::from((*low..=*high).contains(&found.effective[0])))
        };
        let rate = mean(&all.iter().map(within).collect::<Vec<f64>>());
        let widths = all.iter().map(|(_, [low, high], _)| high - low).collect::<Vec<f64>>();
        let name = design.name;
        println!("{name},{items},range if independent,,,{rate:.3},,{:.3}", mean(&widths));
    }
}
