//! Tables of votes: layouts, formats, gold labels, what is refused.

use consilience::votes::Votes;
use consilience_io::{
    Added, AddedValues, Error, Layout, Location, TableWriter, VoteReadOptions, names_batch,
    read_votes,
};

use crate::Files;
use crate::formats::EXTENSIONS;

fn read(location: &Location, gold: Option<&Location>, layout: Layout) -> Result<Votes, Error> {
    let options = VoteReadOptions { layout, ..VoteReadOptions::default() };
    read_votes(location, gold, &options, |_, _| Ok(()))
}

/// Item, source and label of every vote.
fn votes_of(votes: &Votes) -> Vec<String> {
    let of_item = |item: usize| {
        let named = move |(source, label): (usize, usize)| {
            format!("{} {} {}", votes.item(item), votes.sources()[source], votes.classes()[label])
        };
        votes.of_item(item).map(named).collect::<Vec<_>>()
    };
    (0..votes.n_items()).flat_map(of_item).collect()
}

const VOTES: [&str; 4] = ["q1 ann yes", "q1 bob no", "q2 ann no", "q3 bob yes"];

#[test]
fn long_tables_of_every_format_are_read() {
    let files = Files::new();
    let csv = "worker,task,label\nann,q1,yes\nbob,q1,no\nann,q2,no\nbob,q3,yes\n";
    let first = read(&files.with("v.csv", csv), None, Layout::Long).unwrap();
    assert_eq!(votes_of(&first), VOTES);
    let column = |part: usize| VOTES.map(|vote| vote.split(' ').nth(part).unwrap().to_owned());
    let (sources, labels) = (column(1), column(2));
    for extension in EXTENSIONS {
        let at = files.at(&format!("w.{extension}"));
        let mut writer = TableWriter::create(&at, None).unwrap();
        let batch = names_batch("item", VOTES.iter().map(|vote| vote.split(' ').next().unwrap()));
        let text = |name: &'static str, values| Added {
            name: name.into(),
            values: AddedValues::Text(values),
        };
        let counts = Added { name: "n".into(), values: AddedValues::Counts(&[1, 2, 3, 40]) };
        writer.write(&batch, &[text("source", &sources), text("label", &labels), counts]).unwrap();
        writer.finish().unwrap();
        assert_eq!(votes_of(&read(&at, None, Layout::Long).unwrap()), VOTES, "{extension}");
    }
    assert!(files.text("w.csv").ends_with("q3,bob,yes,40\n"));
    assert!(files.text("w.jsonl").ends_with("\"n\":40}\n"));
}

#[test]
fn wide_labels_and_gold_columns_are_read() {
    let files = Files::new();
    let table = "item,ann,bob,gold\na,1.0,2,1\nb,,1,\nc,,,2.0\n";
    let votes = read(&files.with("w.csv", table), None, Layout::WideLabels).unwrap();
    assert_eq!(votes_of(&votes), ["a ann 1", "a bob 2", "b bob 1"]);
    assert_eq!(votes.gold_labels(), [Some(0), None, Some(1)]);
    let nameless =
        read(&files.with("n.csv", "ann,bob\nx,y\ny,y\n"), None, Layout::WideLabels).unwrap();
    assert_eq!(votes_of(&nameless), ["1 ann x", "1 bob y", "2 ann y", "2 bob y"]);
    let long = "item,source,label,gold\na,s,x,\na,t,y,x\nb,s,y,\nb,t,,\n";
    let votes = read(&files.with("l.csv", long), None, Layout::Long).unwrap();
    assert_eq!((votes.gold_labels(), votes.n_votes()), (vec![Some(0), None], 3));
    let gold = files.with("g.csv", "label,item\ny,b\n,a\nx,elsewhere\n");
    let votes = read(&files.at("l.csv"), Some(&gold), Layout::Long).unwrap();
    assert_eq!(votes.gold_labels(), [Some(0), Some(1)]);
    assert!(votes.warnings()[0].message.contains("`elsewhere`"));
    let options = VoteReadOptions { ignores_gold: true, ..VoteReadOptions::default() };
    assert_eq!(read_votes(&files.at("l.csv"), None, &options, |_, _| Ok(())).unwrap().n_gold(), 0);
}

#[test]
fn probabilities_grade_votes() {
    let files = Files::new();
    let one = "item,source,label,probability\na,s,x,0.9\na,t,y,\nb,s,y,0.6\n";
    assert_eq!(read(&files.with("p.csv", one), None, Layout::Long).unwrap().n_votes(), 3);
    let all = "item,source,probability_x,probability_y\na,s,0.9,0.1\nb,s,0.3,0.7\nb,t,,\n";
    let votes = read(&files.with("q.csv", all), None, Layout::Long).unwrap();
    assert_eq!(votes_of(&votes), ["a s x", "b s y"]);
    assert_eq!(votes.classes(), ["x", "y"]);
}

#[test]
fn bad_tables_are_refused_with_the_place() {
    let files = Files::new();
    for (table, layout, message) in [
        ("item,label\na,x\n", Layout::Long, "there is no column `source`"),
        (
            "item,source,label\n,s,x\n",
            Layout::Long,
            "row 1 (line 2), column `item`: the name of the item is empty",
        ),
        (
            "item,source,label\na,,x\n",
            Layout::Long,
            "column `source`: the name of the source is empty",
        ),
        ("item,source,label,probability\na,s,x,2\n", Layout::Long, "must be from 0 to 1"),
        ("item,source,label,probability\na,s,x,high\n", Layout::Long, "`high` is not a number"),
        ("item,source,probability_x,probability_y\na,s,0.5,0.9\n", Layout::Long, "adding up to 1"),
        ("item,source,label\n", Layout::Long, "there are no items"),
        ("", Layout::Long, "the file is empty"),
        ("item,gold\na,x\n", Layout::WideLabels, "there is no column of a source"),
        ("item,source,label\na,s,x\n", Layout::Long, "all votes have the label `x`"),
    ] {
        let error = read(&files.with("t.csv", table), None, layout).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let classes = Some(vec!["x".to_owned(), "y".to_owned()]);
    let options = VoteReadOptions { classes, ..VoteReadOptions::default() };
    let at = files.with("t.csv", "item,source,label\na,s,x\nb,s,z\n");
    let error = read_votes(&at, None, &options, |_, _| Ok(())).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "t.csv, row 2 (line 3), column `label`: item `b`: unknown label `z`; the classes are `x` and `y`"
        ),
        "{error}"
    );
    let gold = files.with("g.csv", "item,label\nb,w\n");
    let at = files.with("t.csv", "item,source,label\na,s,x\nb,s,y\n");
    let error = read_votes(&at, Some(&gold), &options, |_, _| Ok(())).unwrap_err().to_string();
    assert!(
        error.contains("g.csv, row 1 (line 2), column `label`: item `b`: unknown label `w`"),
        "{error}"
    );
    let stop = read_votes(&at, None, &options, |_, _| Err(consilience::Error::Interrupted));
    assert!(matches!(stop, Err(Error::Core(consilience::Error::Interrupted))));
}
