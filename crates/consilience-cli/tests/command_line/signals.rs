//! Interruptions: the old file stays whole, nothing is left behind, and nobody waits.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Bench, MODEL, finish};

/// Long enough for a slow machine, short enough to notice a program that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Many seconds of work.
const SIMULATE: &str = "simulate --preset sim1 --items-per-class 5000000 -o out.csv";

fn send(signal: &str, child: &Child) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success(), "the program had ended before the signal");
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited too long: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends a program that does not end by itself, so that the test can fail.
fn wait_for(child: &mut Child) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the program did not end");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Size of the file under way.
fn written(bench: &Bench) -> u64 {
    let names = bench.names();
    let temporary = names.iter().find(|name| name.starts_with(".consilience-"));
    let size = |name: &String| fs::metadata(bench.path(name)).map_or(0, |file| file.len());
    temporary.map_or(0, size)
}

fn with_old_file() -> Bench {
    let bench = Bench::stocked();
    bench.write("out.csv", "old content\n");
    fs::set_permissions(bench.path("out.csv"), fs::Permissions::from_mode(0o640)).unwrap();
    bench
}

#[track_caller]
fn assert_old_file_is_whole(bench: &Bench) {
    assert_eq!(bench.text("out.csv"), "old content\n");
    let mode = fs::metadata(bench.path("out.csv")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn an_interrupted_simulation_leaves_the_old_file_and_nothing_else() {
    for signal in ["-INT", "-TERM"] {
        let bench = with_old_file();
        let mut child = bench.command(SIMULATE).spawn().unwrap();
        wait_until("something is written", || written(&bench) > 0);
        send(signal, &child);
        wait_for(&mut child);
        let run = finish(child);
        assert_eq!((run.code, run.err.as_str()), (Some(130), "error: interrupted\n"), "{signal}");
        assert_old_file_is_whole(&bench);
        assert_eq!(bench.names(), ["model.json", "out.csv", "table.csv"], "{signal}");
    }
}

/// The second signal ends the program before it gets to tidy up.
#[test]
fn a_second_interruption_leaves_nothing_either() {
    for _ in 0..10 {
        let bench = with_old_file();
        let mut child = bench.command(SIMULATE).spawn().unwrap();
        wait_until("something is written", || written(&bench) > 0);
        // Two different ones, because the same signal twice may arrive as one.
        let (first, second) =
            (format!("kill -INT {0}", child.id()), format!("kill -TERM {0}", child.id()));
        Command::new("sh").args(["-c", &format!("{first}; {second}")]).status().unwrap();
        wait_for(&mut child);
        assert_eq!(finish(child).code, Some(130));
        assert_old_file_is_whole(&bench);
        assert_eq!(bench.names(), ["model.json", "out.csv", "table.csv"]);
    }
}

#[test]
fn a_killed_simulation_leaves_the_old_file() {
    let bench = with_old_file();
    let mut child = bench.command(SIMULATE).spawn().unwrap();
    wait_until("something is written", || written(&bench) > 0);
    send("-KILL", &child);
    wait_for(&mut child);
    assert_eq!(finish(child).code, None);
    assert_old_file_is_whole(&bench);
}

/// Rows without end, until nobody reads them any more.
fn feed_forever(child: &mut Child) -> thread::JoinHandle<()> {
    let mut stdin = child.stdin.take().unwrap();
    thread::spawn(move || {
        let rows = "0.7,0.3,0.6,0.4\n".repeat(1000);
        let mut written = stdin.write_all(b"a_x,a_y,b_x,b_y\n");
        while written.is_ok() {
            written = stdin.write_all(rows.as_bytes());
        }
    })
}

#[test]
fn an_interrupted_fusion_leaves_the_old_file_and_nothing_else() {
    for signal in ["-INT", "-TERM", "-KILL"] {
        let bench = with_old_file();
        let mut command = bench.command("fuse model.json - -o out.csv");
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let feeding = feed_forever(&mut child);
        wait_until("something is written", || written(&bench) > 0);
        send(signal, &child);
        wait_for(&mut child);
        feeding.join().unwrap();
        let run = finish(child);
        assert_old_file_is_whole(&bench);
        if signal == "-KILL" {
            assert_eq!(run.code, None);
            continue;
        }
        assert_eq!((run.code, run.err.as_str()), (Some(130), "error: interrupted\n"), "{signal}");
        assert_eq!(bench.names(), ["model.json", "out.csv", "table.csv"], "{signal}");
    }
}

/// Three correlated sources, whose full model takes milliseconds per item.
const FULL_MODEL: &str = r#"{"format": "consilience", "version": 1, "method": "correlated",
 "classifiers": ["a", "b", "c"], "classes": ["x", "y"], "class_prior": [0.5, 0.5],
 "parameters": {"alpha": [[[3, 2], [2, 3]], [[3, 2], [2, 3]], [[3, 2], [2, 3]]],
 "delta": {"common": [[1, 1], [1, 1]]}, "structure": "common"}}
"#;

/// A chunk of 8192 slow items is one minute of work: the signal must be obeyed within the chunk.
#[test]
fn an_interruption_ends_a_slow_fusion_at_once() {
    for command in ["fuse", "fuse --explain", "density", "evaluate"] {
        let bench = with_old_file();
        bench.write("model.json", FULL_MODEL);
        let row = |i: usize| {
            let p = 0.2 + 0.6 * i as f64 / 8192.0;
            format!("x,{p},{},{},{p},0.6,0.4\n", 1.0 - p, 1.0 - p)
        };
        let rows: String = (0..8192).map(row).collect();
        bench.write("table.csv", format!("label,a_x,a_y,b_x,b_y,c_x,c_y\n{rows}"));
        let output = if command == "evaluate" { "" } else { " -o out.csv" };
        let words = format!("{command} model.json table.csv{output}");
        let mut child = bench.command(&words).spawn().unwrap();
        // Reading takes an instant.
        thread::sleep(Duration::from_millis(500));
        send("-INT", &child);
        let sent = Instant::now();
        wait_for(&mut child);
        assert!(sent.elapsed() < Duration::from_secs(5), "{command}: {:?}", sent.elapsed());
        let run = finish(child);
        assert_eq!((run.code, run.err.as_str()), (Some(130), "error: interrupted\n"), "{command}");
        assert_old_file_is_whole(&bench);
        assert_eq!(bench.names(), ["model.json", "out.csv", "table.csv"], "{command}");
    }
}

#[test]
fn one_interruption_ends_a_command_that_waits_for_its_input() {
    for (words, input) in [
        ("fit - -o out.csv", "label,a_x,a_y\nx,0.5,0.5\n"),
        ("evaluate model.json -", "label,a_x,a_y,b_x,b_y\n"),
        ("fuse model.json - -o out.csv", ""),
        ("fuse model.json - -o out.csv", "a_x,a_y,b_x,b_y\n0.5,0.5,0.5,0.5\n"),
        ("fuse model.json - -o out.csv --input-format jsonl", "{\"a_x\": 0.5}\n"),
    ] {
        let bench = with_old_file();
        let mut child = bench.command(words).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        stdin.flush().unwrap();
        wait_until("the program waits", || is_asleep(&child));
        send("-INT", &child);
        wait_for(&mut child);
        let run = finish(child);
        assert_eq!((run.code, run.err.as_str()), (Some(130), "error: interrupted\n"), "{words}");
        assert_old_file_is_whole(&bench);
        assert_eq!(bench.names(), ["model.json", "out.csv", "table.csv"], "{words}");
        drop(stdin); // kept open until here
    }
}

/// Whether the program has taken all that there is to read, as far as one can see: it is asleep
/// for a while. Its handler of signals is then in place.
fn is_asleep(child: &Child) -> bool {
    (0..20).all(|_| {
        thread::sleep(Duration::from_millis(10));
        let Ok(state) = fs::read_to_string(format!("/proc/{}/stat", child.id())) else {
            return true; // no such files on this system: the time must do
        };
        state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
    })
}

#[test]
fn an_interrupted_fit_leaves_the_old_model() {
    let bench = Bench::new();
    bench.good("simulate --preset sim1 --items-per-class 50 -o data.csv");
    bench.write("model.json", MODEL);
    let mut child = bench
        .command("fit data.csv --method independent --draws 1000000 --chains 2 -o model.json")
        .spawn()
        .unwrap();
    // Reading takes an instant, drawing minutes.
    thread::sleep(Duration::from_millis(500));
    send("-INT", &child);
    let sent = Instant::now();
    wait_for(&mut child);
    assert!(sent.elapsed() < Duration::from_secs(5), "a chain of draws kept the user waiting");
    let run = finish(child);
    assert_eq!((run.code, run.err.as_str()), (Some(130), "error: interrupted\n"));
    assert_eq!(bench.text("model.json"), MODEL);
    assert_eq!(bench.names(), ["data.csv", "model.json"]);
}

#[test]
fn an_interrupted_comparison_leaves_nothing() {
    let bench = Bench::new();
    bench.good("simulate --preset sim1 --items-per-class 300 -o data.csv");
    let words = "compare data.csv --inference two-step --csv rows.csv --plots pictures";
    let mut child = bench.command(words).spawn().unwrap();
    // Reading takes an instant, posteriors of ten folds minutes.
    thread::sleep(Duration::from_millis(500));
    send("-INT", &child);
    wait_for(&mut child);
    let run = finish(child);
    assert_eq!((run.code, run.err.as_str()), (Some(130), "error: interrupted\n"));
    assert_eq!(bench.names(), ["data.csv"]);
}

/// Votes of 2000 sources on 20 000 items.
fn many_votes() -> String {
    let rows = (0..100_000usize).map(|i| {
        let (item, source) = (i / 5, (i * 7919) % 2000);
        format!("{item},s{source},{}\n", (item + usize::from(i % 4 == 0)) % 3)
    });
    String::from("item,source,label\n") + &rows.collect::<String>()
}

/// Whatever the moment of the signal (reading, fitting, writing), old files stay or the new ones are
/// whole.
#[test]
fn an_interrupted_aggregation_leaves_the_old_files_or_whole_new_ones() {
    let bench = Bench::new();
    bench.write("votes.csv", many_votes());
    let words = "aggregate votes.csv --method ibcc --inference gibbs --draws 100000 -o out.csv \
                 --sources sources.csv --model model.json --quiet";
    let waits = [5, 50, 200, 1000];
    for (wait, signal) in waits.into_iter().zip(["-TERM", "-INT", "-INT", "-INT"]) {
        for name in ["out.csv", "sources.csv", "model.json"] {
            bench.write(name, "old content\n");
        }
        let mut child = bench.command(words).spawn().unwrap();
        thread::sleep(Duration::from_millis(wait));
        send(signal, &child);
        let sent = Instant::now();
        wait_for(&mut child);
        assert!(sent.elapsed() < Duration::from_secs(10), "{wait} ms: {:?}", sent.elapsed());
        // Before the handler is in place, the signal itself ends the program.
        let code = finish(child).code;
        assert!(code == Some(130) || code.is_none(), "{wait} ms: {code:?}");
        for name in ["out.csv", "sources.csv", "model.json"] {
            assert_eq!(bench.text(name), "old content\n", "{wait} ms");
        }
        assert_eq!(
            bench.names(),
            ["model.json", "out.csv", "sources.csv", "votes.csv"],
            "{wait} ms"
        );
    }
}
