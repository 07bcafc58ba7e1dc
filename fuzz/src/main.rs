//! The fuzzer; the environment variable `FUZZ_TARGET` names the target.

#![no_main]

use std::panic;
use std::process::abort;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    consilience_fuzz::target(&name).expect("FUZZ_TARGET names a target")
});

fuzz_target!(
    init: {
        // The fuzzer takes every panic for a finding, but readers catch those of damaged files.
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !consilience_io::is_guarded() {
                report(info);
                abort();
            }
        }));
    },
    |bytes: &[u8]| TARGET(bytes)
);
