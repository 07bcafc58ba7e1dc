#!/bin/sh
# Fuzzes one target or all of them, one after the other: scripts/fuzz.sh SECONDS [TARGET].
#
# The stable compiler builds the fuzzer with its unstable flags (RUSTC_BOOTSTRAP): coverage counters
# for libFuzzer and the address sanitizer. New inputs are kept in target/fuzz/corpus, findings in
# target/fuzz/findings; a finding that was mended belongs to fuzz/corpus/<target>.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
host=$(rustc -vV | sed -n 's/^host: //p')
folder=${CARGO_TARGET_DIR:-target}/fuzz

export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg=fuzzing -Zsanitizer=address -Ccodegen-units=1 \
-Cdebug-assertions -Cforce-frame-pointers"
cargo build --quiet --locked --profile demo --package consilience-fuzz --features libfuzzer \
    --bin fuzz --target "$host" --target-dir "$folder"
unset RUSTFLAGS RUSTC_BOOTSTRAP

for target in ${2:-$(ls fuzz/corpus)}; do
    mkdir -p "$folder/corpus/$target" "$folder/findings/$target"
    echo "$target: $seconds s"
    # Memory: one allocation above 2.2 GB or 4 GB in all is a finding. Time: 20 s for one input.
    FUZZ_TARGET=$target "$folder/$host/demo/fuzz" "$folder/corpus/$target" "fuzz/corpus/$target" \
        -artifact_prefix="$folder/findings/$target/" -max_total_time="$seconds" -timeout=20 \
        -malloc_limit_mb=2200 -rss_limit_mb=4096 -print_final_stats=1 \
        > "$folder/$target.log" 2>&1 || tail -n 40 "$folder/$target.log"
    grep -E 'DONE|^stat::(number|average|slowest|peak)' "$folder/$target.log" || true
    if [ -n "$(ls "$folder/findings/$target")" ]; then
        echo "findings: $folder/findings/$target" >&2
        exit 1
    fi
done
