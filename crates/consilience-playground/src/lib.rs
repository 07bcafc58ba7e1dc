//! What the playground page computes, in WebAssembly.
//!
//! A request is one line of JSON, tagged by `"call"`, and, for a table, its bytes after that line.
//! The answer is JSON: `{"value": ...}`, or `{"error": "..."}` with a sentence for the reader.
//! `pair` fuses the outputs of two sources with a known correlation; `table` fits a model to a
//! table that was dropped on the page. `ffi` passes requests through the linear memory, so
//! that the module needs no imports and no generated bindings.

mod ffi;
mod pair;
mod table;

use serde::{Deserialize, Serialize};

/// A request of the page.
#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Pair(pair::Panel),
    Table(table::Dropped),
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Answer<T> {
    Value(T),
    Error(String),
}

/// Answers a request: a line of JSON, and the bytes of a table where the request needs one.
///
/// # Example
/// ```
/// let request = br#"{"call":"pair","outputs":[[0.6,0.2,0.2],[0.6,0.2,0.2]],"others":[100,100],
///     "excess":[1,1],"correlations":[0.5]}"#;
/// let line: Vec<u8> = request.iter().copied().filter(|&byte| byte != b'\n').collect();
/// let answer = consilience_playground::answer(&line);
/// assert!(answer.starts_with(br#"{"value":{"fused":[{"probabilities":[0.674"#));
/// ```
pub fn answer(request: &[u8]) -> Vec<u8> {
    let end = request.iter().position(|&byte| byte == b'\n').unwrap_or(request.len());
    let payload = request.get(end + 1..).unwrap_or_default();
    match serde_json::from_slice(&request[..end]) {
        Ok(Request::Pair(panel)) => json(panel.fuse().map_err(|error| error.to_string())),
        Ok(Request::Table(dropped)) => json(dropped.fit(payload)),
        Err(error) => json::<()>(Err(format!("the request cannot be read: {error}"))),
    }
}

fn json<T: Serialize>(result: Result<T, String>) -> Vec<u8> {
    let answer = match result {
        Ok(value) => Answer::Value(value),
        Err(message) => Answer::Error(message),
    };
    serde_json::to_vec(&answer).unwrap_or_else(|error| {
        format!(r#"{{"error":"the answer cannot be written: {error}"}}"#).into_bytes()
    })
}
