//! Replays the seeds and the past findings of every target.

#![allow(clippy::print_stderr, reason = "shows how far a run came before it aborted")]

use std::path::Path;

/// A finding that aborts the process is the last file printed with `--nocapture`.
#[test]
fn every_file_of_the_corpora_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, run) in consilience_fuzz::TARGETS {
        let folder = corpus.join(name);
        let files = std::fs::read_dir(&folder).unwrap_or_else(|_| panic!("{name} has no seeds"));
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            eprintln!("{}", file.display());
            run(&std::fs::read(file).unwrap());
        }
    }
}
