//! `consilience report`: the page, its JSON, and what is refused.

use super::{Bench, json};

const VOTES: &str = "item,source,label\nq1,ann,yes\nq1,bob,yes\nq1,eve,no\nq2,ann,no\nq2,bob,no\n\
    q2,eve,no\nq3,ann,yes\nq3,eve,no\n";

/// The JSON inside a page.
fn inside(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once(r#"<script type="application/json" id="report">"#).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_page_contains_the_json_that_is_printed() {
    let bench = Bench::stocked();
    let run = bench.good("report model.json table.csv -o page.html");
    assert!(run.err.ends_with("report -> page.html\n"), "{}", run.err);
    assert_eq!(run.out, "");
    let page = bench.text("page.html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(json(&bench.good("report model.json table.csv --format json")), inside(&page));
    assert_eq!(bench.good("report model.json table.csv").out, page);
}

/// Both at once: the page in the file, the JSON on standard output.
#[test]
fn json_and_page_at_once() {
    let bench = Bench::stocked();
    let run =
        bench.good("report model.json table.csv --format json -o page.html --title T --items 1");
    let printed = json(&run);
    assert_eq!(printed, inside(&bench.text("page.html")));
    assert_eq!(
        (printed["title"].as_str(), printed["kind"].as_str()),
        (Some("T"), Some("labelled"))
    );
    assert_eq!(printed["disagreeing"].as_array().unwrap().len(), 1);
}

#[test]
fn items_without_labels_have_a_page() {
    let bench = Bench::stocked();
    bench.write("new.csv", "a_x,a_y,b_x,b_y\n0.7,0.3,0.6,0.4\n0.2,0.8,,\n");
    let found = json(&bench.good("report model.json new.csv --format json"));
    assert_eq!(found["kind"], "unlabelled");
    assert_eq!(found["subject"]["n_missing"], 1);
    assert!(found["labelled"].is_null());
}

#[test]
fn a_model_of_votes_takes_votes() {
    let bench = Bench::stocked();
    bench.write("votes.csv", VOTES);
    bench.good("aggregate votes.csv -o labels.csv --model votes.json --report votes.html");
    let found = json(&bench.good("report votes.json votes.csv --format json"));
    assert_eq!(found, inside(&bench.text("votes.html")));
    assert_eq!(
        (found["kind"].as_str(), found["votes"]["n_votes"].as_u64()),
        (Some("votes"), Some(8))
    );
    bench.refused_as_it_is(
        "report votes.json votes.csv --class-prior uniform",
        "votes.json: `--class-prior` has no effect on a model of votes",
        "",
    );
}

/// Nothing is overwritten that the command reads, and nothing is written if something is wrong.
#[test]
fn inputs_are_kept_and_mistakes_leave_no_file() {
    let bench = Bench::stocked();
    let own = "give the output a name of its own";
    for (output, what) in [("model.json", "the model"), ("./table.csv", "the data")] {
        let message = format!("the report and {what} are the same file, {output}");
        bench.refused_as_it_is(&format!("report model.json table.csv -o {output}"), &message, own);
    }
    bench.write("bad.csv", "label,a_x,a_y,b_x,b_y\nx,0.7,0.3,0.6,2.4\n");
    let run = bench.run("report model.json bad.csv -o page.html");
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains("bad.csv") && run.err.contains("`b_y`"), "{}", run.err);
    let run = bench.run("report model.json table.csv -o missing/page.html");
    assert!(run.code == Some(1) && run.err.contains("missing/page.html"), "{}", run.err);
    let run = bench.run("report model.json table.csv --predictive -o page.html");
    assert!(run.code == Some(1) && run.err.starts_with("error: model.json: "), "{}", run.err);
    assert_eq!(bench.names(), ["bad.csv", "model.json", "table.csv"]);
}

/// The same seed gives the same page at any number of threads.
#[test]
fn threads_do_not_change_the_page() {
    let bench = Bench::new();
    bench.good("simulate --preset sim2 --items-per-class 60 -o data.csv -q");
    bench.good("fit data.csv -o model.json -q");
    let page =
        |threads: usize| bench.good(&format!("report model.json data.csv --threads {threads}")).out;
    assert_eq!(page(1), page(3));
    assert!(page(2).contains("optimistic"));
}
