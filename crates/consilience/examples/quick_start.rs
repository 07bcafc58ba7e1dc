//! Fits `auto` to simulated outputs and fuses new ones: `cargo run --example quick_start`.

#![allow(clippy::print_stdout)]

use consilience::simulation::Preset;
use consilience::{Auto, Error};

fn main() -> Result<(), Error> {
    let truth = Preset::Sim2.truth(0.5)?;
    let (train, test) = (truth.simulate(200, 1)?, truth.simulate(100, 2)?);

    let model = Auto::default().fit(&train)?;
    let fused = model.fuse(&test)?;
    println!("{:.3?} ± {:.0e}", fused.probabilities(0), fused.error(0));
    Ok(())
}
