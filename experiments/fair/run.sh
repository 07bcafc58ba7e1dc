#!/bin/sh
# The fair comparison on the paper's six real sets: run.sh DATA [PROGRAM]. Finished files are kept.
set -eu
data=$1
program=${2:-consilience}
cd "$(dirname "$0")"
quick=auto,stacking,independent,discounted,logit-normal,normal-mixture,nazabal,bcc,opinion-pool,linear-pool,log-pool
for prior in uniform empirical; do
    for set in dna_b dna_c dna_a bookies_a bookies_b bookies_c; do
        out=$set-$prior.csv
        [ -e "$out" ] || "$program" compare "$data/$set.csv" --quiet --methods $quick --splits 50 \
            --class-prior $prior --csv "$out" >/dev/null
        # What classifiers share takes seconds to minutes a fit: fewer splits, the first of the same.
        out=$set-$prior-few.csv
        [ -e "$out" ] || "$program" compare "$data/$set.csv" --quiet --methods $quick,correlated \
            --splits "${FEW:-5}" --class-prior $prior --csv "$out" >/dev/null
    done
done
