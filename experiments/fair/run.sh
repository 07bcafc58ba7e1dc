#!/bin/sh
# The fair comparison on the paper's six real sets: run.sh DATA [PROGRAM]. Finished files are kept.
set -eu
data=$1
program=${2:-consilience}
cd "$(dirname "$0")"
quick=auto,stacking,independent,discounted,logit-normal,bcc,opinion-pool,linear-pool,log-pool
for prior in uniform empirical; do
    for set in dna_b dna_c dna_a bookies_a bookies_b bookies_c; do
        out=$set-$prior.csv
        [ -e "$out" ] || "$program" compare "$data/$set.csv" --quiet --methods $quick --splits 50 \
            --class-prior $prior --csv "$out" >/dev/null
    done
done
# What classifiers share and mixtures take seconds a fit: fewer splits, the first of the same.
for set in ${SLOW_SETS:-dna_b dna_c dna_a bookies_a bookies_b}; do
    out=$set-uniform-few.csv
    [ -e "$out" ] || "$program" compare "$data/$set.csv" --quiet --methods $quick,normal-mixture,correlated \
        --splits "${FEW:-10}" --csv "$out" >/dev/null
done
