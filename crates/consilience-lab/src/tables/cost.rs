//! Cost against the numbers of classifiers, classes and items, in processor time.

use consilience::methods::correlated::Structure;
use consilience::methods::fuse;
use consilience::{ClassPrior, Result};

use super::{cpu_seconds, quick, truth};

/// Trees and full models of several sizes; the smallest of each if `quick`.
pub(super) fn run(quick: bool) -> Result<()> {
    println!(
        "structure,classifiers,classes,items_per_class,resolution,fit_seconds,fuse_us_per_item"
    );
    let trees = [
        (3, 3, 100),
        (3, 3, 300),
        (3, 3, 1000),
        (3, 2, 300),
        (3, 5, 300),
        (5, 3, 300),
        (8, 3, 300),
    ];
    for (n, j, items) in trees.into_iter().take(if quick { 1 } else { trees.len() }) {
        one(Structure::Tree, (n, j, items), None)?;
    }
    let full = [(3, 2, 0.0), (3, 3, 0.0), (3, 5, 0.0), (4, 3, 0.0), (5, 3, 0.0)];
    for (n, j, resolution) in full.into_iter().take(if quick { 1 } else { full.len() }) {
        one(Structure::Full, (n, j, 50), Some(resolution))?;
    }
    Ok(())
}

fn one(
    structure: Structure,
    (n, j, items): (usize, usize, usize),
    resolution: Option<f64>,
) -> Result<()> {
    let truth = truth((n, j), 0.4, &[])?;
    let train = truth.simulate(items, 1)?;
    let mut config = quick(structure);
    config.resolution = resolution;
    let start = cpu_seconds();
    let model = config.fit(&train)?;
    let seconds = cpu_seconds() - start;
    let test = truth.simulate(if structure == Structure::Tree { 100 } else { 5 }, 2)?;
    let start = cpu_seconds();
    fuse(model.fusion(), &test, &ClassPrior::uniform(j))?;
    let each = (cpu_seconds() - start) * 1e6 / test.n_items() as f64;
    let used = resolution.unwrap_or(if n < 4 { 0.03 } else { 0.1 });
    let name = if structure == Structure::Tree { "tree" } else { "full" };
    println!("{name},{n},{j},{items},{used},{seconds:.2},{each:.0}");
    Ok(())
}
