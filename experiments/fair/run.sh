#!/bin/sh
# The comparison on the paper's six real sets: run.sh DATA [PROGRAM]. Finished files are kept.
# One file per set and group of methods, so that slow methods can be run by themselves.
set -eu
data=$1
program=${2:-consilience}
cd "$(dirname "$0")"
mkdir -p splits
quick=auto,stacking,independent,discounted,logit-normal,bcc,opinion-pool,linear-pool,log-pool
for methods in ${GROUPS_OF_METHODS:-$quick correlated normal-mixture}; do
    for set in ${SETS:-dna_c dna_b dna_a bookies_a bookies_b bookies_c}; do
        out=splits/$set-${methods%%,*}.csv
        [ -e "$out" ] || "$program" compare "$data/$set.csv" --quiet --methods "$methods" --splits 50 \
            --class-prior uniform --class-prior empirical --split-csv "$out" >/dev/null
    done
done
