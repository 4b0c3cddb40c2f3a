#!/bin/sh
# seeds.sh SEEDS PROGRAM: runs a test program by each seed from 1 to SEEDS. What fails is shown. The last line is
# "N passed, N failed", of seeds.
passed=0 failed=0
for seed in $(seq "$1"); do
    if said=$(CHECK_SEED=$seed "$2"); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$said"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
