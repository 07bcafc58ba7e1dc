//! Figure 2: the fused probability of two classifiers with the same output, against their
//! correlation.
//!
//! Both outputs are (0.6, 0.2, 0.2). Each classifier is modelled by a Dirichlet distribution with
//! parameter 100 for every component and a little more for the true class, so that without
//! correlation the fused distribution is that of an opinion pool.

use std::path::Path;
use std::sync::Arc;

use consilience::methods::correlated::CorrelatedFusion;
use consilience::methods::fuse;
use consilience::{ClassPrior, InputFormat, OutputsBuilder, Schema};
use consilience_io::write_whole;
use correlated_dirichlet::CorrelatedDirichlet;

use crate::Failure;
use crate::plots::{Bars, COLOURS, Line, StackedPanel, write_lines};

/// The output of both classifiers.
const OUTPUT: [f64; 3] = [0.6, 0.2, 0.2];
/// Parameters of the other components, and of the true class.
const OTHERS: f64 = 100.0;
const TRUE_CLASS: [f64; 2] = [101.0, 102.0];
/// The shared shape that stands for no correlation in the paper.
const UNCORRELATED: f64 = 0.1;
/// Steps of the correlation from 0 to 1.
const STEPS: u32 = 50;

/// Writes figure-2.svg, figure-2.png and figure-2.csv.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    let mut table = String::from("true_class_alpha,correlation,probability\n");
    let mut lines = Vec::new();
    for (&concentration, colour) in TRUE_CLASS.iter().zip(COLOURS) {
        let steps = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let points = steps
            .map(|r| Ok((r, fused(concentration, r)?[0])))
            .collect::<Result<Vec<_>, consilience::Error>>()?;
        for (r, p) in &points {
            table += &format!("{concentration},{r:.2},{p:.6}\n");
        }
        let alone = alone(concentration);
        lines.push(Line {
            name: format!("two, α of the true class {concentration}"),
            colour,
            dashed: false,
            points,
        });
        let name = format!("one alone, {concentration}");
        lines.push(Line { name, colour, dashed: true, points: vec![(0.0, alone), (1.0, alone)] });
    }
    write_whole(&folder.join("figure-2.csv").into(), table.as_bytes())?;
    let title = "Two classifiers with the output (0.6, 0.2, 0.2)";
    let labels = ["correlation r", "fused probability of the first class"];
    write_lines(&lines, title, labels, folder, "figure-2")?;
    write_stacks(folder)
}

/// Writes figure-2-stacks.svg and figure-2-stacks.png: the distributions as the paper draws them.
fn write_stacks(folder: &Path) -> Result<(), Failure> {
    let panel = |concentration: f64| -> Result<StackedPanel, Failure> {
        let mut stacks = vec![("x1".to_owned(), OUTPUT.to_vec()), ("x2".into(), OUTPUT.to_vec())];
        for step in 0..=10 {
            let r = f64::from(step) / 10.0;
            stacks.push((format!("r = {r}"), fused(concentration, r)?));
        }
        let first = alone(concentration);
        let meta = vec![first, (1.0 - first) / 2.0, (1.0 - first) / 2.0];
        stacks.extend([("M1".to_owned(), meta.clone()), ("M2".into(), meta)]);
        Ok((format!("α of the true class {concentration}, of the others {OTHERS}"), stacks))
    };
    let figure = Bars {
        title: "Figure 2: two outputs, fused at rising correlation",
        x_label: "outputs, fused distributions, meta classifiers",
        series: &[("class 1", COLOURS[0]), ("class 2", COLOURS[4]), ("class 3", COLOURS[2])],
    };
    let panels = [panel(TRUE_CLASS[0])?, panel(TRUE_CLASS[1])?];
    figure.write_stacked(&panels, folder, "figure-2-stacks")
}

/// The fused distribution with δ = rα; at r = 0 the paper's 0.1.
fn fused(concentration: f64, r: f64) -> consilience::Result<Vec<f64>> {
    let schema = Arc::new(Schema::new(["1", "2"], ["a", "b", "c"])?);
    let class = |j: usize| {
        let alpha: Vec<f64> = (0..3).map(|l| if l == j { concentration } else { OTHERS }).collect();
        let delta = alpha.iter().map(|a| if r == 0.0 { UNCORRELATED } else { r * a }).collect();
        CorrelatedDirichlet::new(vec![alpha; 2], Some(delta), vec![])
    };
    let classes = [class(0)?, class(1)?, class(2)?];
    let rule = CorrelatedFusion::new(Arc::clone(&schema), &classes, 0.0)?;
    let mut builder = OutputsBuilder::new(schema, InputFormat::default())?;
    builder.push(&[OUTPUT, OUTPUT].concat(), None)?;
    let fused = fuse(&rule, &builder.finish(), &ClassPrior::uniform(3))?;
    Ok(fused.probabilities(0).to_vec())
}

/// The first class's probability by the meta classifier of one classifier: the output to the power
/// of the true class's excess.
fn alone(concentration: f64) -> f64 {
    let weights = OUTPUT.map(|x| x.powf(concentration - OTHERS));
    weights[0] / weights.iter().sum::<f64>()
}
