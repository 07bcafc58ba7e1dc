//! The command line as its users meet it: the real program, run in a folder of its own.

mod advise;
mod auto;
mod bad_models;
mod bad_settings;
mod bad_tables;
mod bad_values;
mod baselines;
mod commands;
mod compare;
mod correlated;
mod costs;
mod determinism;
mod export;
mod formats;
mod help;
mod hostile;
mod own_files;
mod paths;
mod report;
mod signals;
mod tables;
mod unlabelled;
mod votes;
mod whole_files;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// The program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_consilience");

/// A model of classifiers `a` and `b` and classes `x` and `y`, as one would write it by hand.
const MODEL: &str = r#"{"format": "consilience", "version": 1, "method": "independent",
 "classifiers": ["a", "b"], "classes": ["x", "y"], "class_prior": [0.5, 0.5],
 "parameters": {"alpha": [[[3, 2], [2, 3]], [[4, 2], [1, 2]]]}}
"#;

/// A good table for that model.
const TABLE: &str = "label,a_x,a_y,b_x,b_y\nx,0.7,0.3,0.6,0.4\ny,0.2,0.8,0.4,0.6\n";

/// A folder in which commands run, so that messages name files without their folder.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder can be made") }
    }

    /// With the good model and table.
    fn stocked() -> Self {
        let bench = Self::new();
        bench.write("model.json", MODEL);
        bench.write("table.csv", TABLE);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Every file of the folder and its folders, hidden ones too, with its content.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(self.folder.path(), &mut found);
        found
    }

    /// The names of the files at the top.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with its words, which may not contain spaces.
    fn command(&self, words: &str) -> Command {
        let mut command = self.shell(PROGRAM);
        command.args(words.split_whitespace());
        command
    }

    /// Another program in the same surroundings.
    fn shell(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.folder.path())
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env("COLUMNS", "100")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &str) -> Run {
        self.command(words).output().unwrap().into()
    }

    /// Runs with bytes on standard input.
    fn feed(&self, words: &str, input: &[u8]) -> Run {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || stdin.write_all(&input));
        let run = finish(child);
        let _ = feeding.join().unwrap(); // the program may end before it has read everything
        run
    }

    /// Runs a command that must succeed.
    #[track_caller]
    fn good(&self, words: &str) -> Run {
        let run = self.run(words);
        assert_eq!(run.code, Some(0), "`{words}` failed:\n{}", run.err);
        run
    }

    /// Runs a command that must refuse: exit code 1, exactly this message and hint on standard
    /// error, nothing on standard output, and every file in the folder as it was before. Commands
    /// that write do so twice: where there was no file, and over an old one.
    #[track_caller]
    fn refused(&self, words: &str, message: &str, hint: &str) {
        let output = match words.split_whitespace().next() {
            _ if words.contains(" -o ") => None,
            Some("fit") => Some("out.json"),
            Some("fuse" | "density" | "simulate") => Some("out.csv"),
            _ => None,
        };
        let Some(output) = output else {
            return self.refused_as_it_is(words, message, hint);
        };
        let words = format!("{words} -o {output}");
        self.refused_as_it_is(&words, message, hint);
        self.write(output, "old content, to be kept\n");
        self.refused_as_it_is(&words, message, hint);
        fs::remove_file(self.path(output)).unwrap();
    }

    #[track_caller]
    fn refused_as_it_is(&self, words: &str, message: &str, hint: &str) {
        let before = self.files();
        let run = self.run(words);
        let hint = if hint.is_empty() { String::new() } else { format!("hint: {hint}\n") };
        assert_eq!(run.err, format!("error: {message}\n{hint}"), "`{words}`");
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""), "`{words}`");
        assert!(self.files() == before, "`{words}` changed files");
    }
}

/// A report in JSON.
fn json(run: &Run) -> serde_json::Value {
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.out))
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
            found.insert(path, Vec::new());
        } else {
            let content = fs::read(&path).unwrap_or_default();
            found.insert(path, content);
        }
    }
}

/// What a command did.
#[derive(Debug)]
struct Run {
    /// None if a signal ended it.
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

fn finish(child: Child) -> Run {
    child.wait_with_output().unwrap().into()
}

/// Root may read and write everything, so that forbidding it something proves nothing.
fn is_root(bench: &Bench) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(bench.folder.path()).unwrap().uid() == 0
}
