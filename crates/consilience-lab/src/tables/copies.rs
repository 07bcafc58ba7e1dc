//! Change of fused probabilities by ten copies of one classifier; time and memory with 25 classifiers.

use std::sync::Arc;

use consilience::methods::correlated::Structure;
use consilience::methods::discounted::Discounted;
use consilience::methods::fuse;
use consilience::{ClassPrior, InputFormat, MethodConfig, Outputs, OutputsBuilder, Result, Schema};

use super::{cpu_seconds, quick, truth};

/// The two methods compared.
fn fits() -> [(&'static str, MethodConfig); 2] {
    [("tree", quick(Structure::Tree).into()), ("discounted", Discounted::default().into())]
}

/// Three classifiers with copies of the first, and so many different ones.
pub(super) fn run(classifiers: usize) -> Result<()> {
    println!("what,method,classifiers,fit_seconds,fuse_us_per_item,peak_memory_mb,largest_change");
    ten_copies()?;
    different(classifiers)
}

/// The largest change of a fused probability by ten copies.
fn ten_copies() -> Result<()> {
    let three = truth((3, 2), 0.3, &[((0, 1), 0.2)])?.simulate(100, 2)?;
    let copied = with_copies(&three, 10)?;
    for (name, config) in fits() {
        let [few, many] = [&three, &copied].map(|outputs| {
            let model = config.fit(outputs)?;
            Ok::<_, consilience::Error>(
                fuse(model.fusion(), outputs, &ClassPrior::uniform(2))?.all().to_vec(),
            )
        });
        let (few, many) = (few?, many?);
        let largest = few.iter().zip(&many).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("the first of three ten times more,{name},13,,,,{largest:.4}");
    }
    Ok(())
}

fn different(classifiers: usize) -> Result<()> {
    let many = truth((classifiers, 2), 0.5, &[])?.simulate(100, 1)?;
    for (name, config) in fits() {
        let start = cpu_seconds();
        let model = config.fit(&many)?;
        let seconds = cpu_seconds() - start;
        let start = cpu_seconds();
        fuse(model.fusion(), &many, &ClassPrior::uniform(2))?;
        let each = (cpu_seconds() - start) * 1e6 / many.n_items() as f64;
        println!("200 items,{name},{classifiers},{seconds:.1},{each:.0},{},", peak_memory());
    }
    Ok(())
}

/// Adds `n` copies of the first classifier's outputs.
fn with_copies(outputs: &Outputs, n: usize) -> Result<Outputs> {
    let schema = outputs.schema();
    let copies = (1..=n).map(|i| format!("copy{i}"));
    let names: Vec<String> = schema.classifiers().iter().cloned().chain(copies).collect();
    let all = Arc::new(Schema::new(names, schema.classes().to_vec())?);
    let mut builder = OutputsBuilder::new(all, InputFormat::default())?;
    for (item, label) in outputs.require_labels()?.into_iter().enumerate() {
        let output = |k: usize| outputs.output(item, k).expect("all outputs are there");
        let own = (0..schema.n_classifiers()).map(output);
        let row = own.chain(std::iter::repeat_n(output(0), n)).flatten().copied();
        builder.push(&row.collect::<Vec<f64>>(), Some(&schema.classes()[label]))?;
    }
    Ok(builder.finish())
}

/// Peak memory of this process in MB, over all fits so far; empty without `/proc`.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.map_or_else(String::new, |kb| format!("{:.0}", kb / 1024.0))
}
