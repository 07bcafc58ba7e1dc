//! Values from independent estimators: `reference/density_many.csv` and three values of the guide.

use correlated_dirichlet::CorrelatedDirichlet;
use correlated_dirichlet::SharedPair;
use correlated_dirichlet::{MultiDensity, MultiScratch};

use super::{ln_density, pair, slices, three};

struct Row {
    name: String,
    x: Vec<Vec<f64>>,
    distribution: CorrelatedDirichlet,
    ln_density: f64,
    abs_err: f64,
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|x| x.parse().unwrap()).collect()
}

fn matrix(text: &str) -> Vec<Vec<f64>> {
    text.split(';').map(numbers).collect()
}

/// Parses "1-2: 0.5 0.4; 1-3: 0.6 0.3", with classifiers counted from 1.
fn pairs(text: &str) -> Vec<SharedPair> {
    let index = |k: &str| k.trim().parse::<usize>().unwrap() - 1;
    let one = |text: &str| {
        let (who, delta) = text.split_once(':').unwrap();
        let (a, b) = who.split_once('-').unwrap();
        SharedPair { first: index(a), second: index(b), delta: numbers(delta) }
    };
    text.split(';').filter(|pair| !pair.trim().is_empty()).map(one).collect()
}

fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let [name, _, _, x, alpha, common, shared, ln_density, abs_err] = fields[..] else {
        panic!("nine fields, not {line}")
    };
    let common = Some(numbers(common));
    Row {
        name: name.to_owned(),
        x: matrix(x),
        distribution: CorrelatedDirichlet::new(matrix(alpha), common, pairs(shared)).unwrap(),
        ln_density: ln_density.parse().unwrap(),
        abs_err: abs_err.parse().unwrap(),
    }
}

/// 66 cases, K = 3 to 25. In at least 60 of them the error is below 5e-3, and below twice the reported error.
#[test]
fn the_reference_table_is_reproduced() {
    let text = include_str!("../../../../reference/density_many.csv");
    let rows: Vec<Row> = text.lines().skip(1).map(row).collect();
    let mut scratch = MultiScratch::default();
    let (mut far, mut dishonest, mut unresolved) = (Vec::new(), Vec::new(), Vec::new());
    for Row { name, x, distribution, ln_density, abs_err } in &rows {
        let density = MultiDensity::new(distribution).unwrap();
        let got = density.ln_density(&slices(x), &mut scratch);
        let off = (got.ln_density - ln_density).abs();
        let line = format!("{name}: off {off:.1e}, reported {:.1e}", got.error);
        if !(off < 5e-3 + abs_err) {
            far.push(line.clone());
        }
        if !(off <= 2.0 * got.error + abs_err) {
            dishonest.push(line.clone());
        }
        if !got.is_resolved() {
            unresolved.push(line);
        }
    }
    assert_eq!(rows.len(), 66);
    assert!(far.len() <= 6, "{far:#?}");
    assert!(dishonest.len() <= 6, "{dishonest:#?}");
    assert!(unresolved.len() <= 6, "{unresolved:#?}");
}

#[test]
fn the_values_of_the_guide_are_reproduced() {
    let near = vec![vec![0.5, 0.2, 0.3], vec![0.4, 0.3, 0.3], vec![0.45, 0.25, 0.3]];
    let far = vec![vec![0.6, 0.1, 0.3], vec![0.2, 0.5, 0.3], vec![0.3, 0.3, 0.4]];
    let alpha = vec![vec![6.0, 4.0], vec![5.0, 5.0], vec![6.0, 5.0], vec![7.0, 4.0]];
    let pairs = vec![
        pair(0, 1, &[0.5, 0.4]),
        pair(0, 2, &[0.6, 0.3]),
        pair(0, 3, &[0.4, 0.3]),
        pair(1, 2, &[0.5, 0.5]),
        pair(1, 3, &[0.3, 0.4]),
        pair(2, 3, &[0.7, 0.2]),
    ];
    let four = CorrelatedDirichlet::new(alpha, Some(vec![1.2, 1.0]), pairs).unwrap();
    let x = vec![vec![0.6, 0.4], vec![0.5, 0.5], vec![0.7, 0.3], vec![0.65, 0.35]];
    for (distribution, x, want, abs_err) in
        [(three(), near, 7.365_11, 8e-5), (three(), far, 2.374_93, 4e-5), (four, x, 3.4814, 3e-4)]
    {
        let got = ln_density(&distribution, &x);
        let off = (got.ln_density - want).abs();
        assert!(got.is_resolved() && got.error < 2e-3);
        assert!(off < 3.0 * got.error + abs_err, "{} ± {}, not {want}", got.ln_density, got.error);
    }
}
