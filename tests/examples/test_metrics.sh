#!/bin/sh
# metrics.c, whose output promtool reads, and whose samples are counted a second time. CC names the
# compiler (default: cc). Usage: test_metrics.sh PATH_OF_METRICS, from the top folder.
# The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

"$1" >"$work/metrics"
check "exit status" test $? -eq 0

# promtool says nothing of a text without a fault; 1 is wrong, 3 is bad style.
accepts() { promtool check metrics <"$work/$1" >"$work/log" 2>&1 && [ ! -s "$work/log" ]; }
refuses() { ! accepts "$1"; }
check "promtool accepts it" accepts metrics
[ "$failed" -eq 0 ] || cat "$work/log"
sed '/HELP retry_ends/d' "$work/metrics" >"$work/helpless"
check "promtool does not without a help text" refuses helpless
sed 's/_total counter/_total histogram/' "$work/metrics" >"$work/mistyped"
check "promtool does not with another type" refuses mistyped

# What the same program prints while its attempts, waits and ends are counted from outside.
check "it compiles, watched" makes "$work/seen" ${CC:-cc} -std=c99 tests/examples/metrics_seen.c
"$work/seen" "$work/expected" >"$work/printed"
check "watched: exit status" test $? -eq 0
first() { head -n "$(wc -l <"$work/metrics")" "$work/printed" | cmp -s - "$work/metrics"; }
# What was printed each time, in whatever order.
by_time() { awk '/"original"/ { time++ } !/^#/ { print time, $0 }' "$1" | sort; }
counted() {
    by_time "$work/printed" >"$work/samples"
    by_time "$work/expected" | diff - "$work/samples"
}
check "watched, it prints the same" first
check "every sample is what happened, each of the four times" counted

# typed: "NAME TYPE" of each metric
typed() { sed -n 's/^# TYPE //p' "$work/metrics" | sort | tr '\n' ' '; }
types="grpc_client_attempt_started_total counter grpc_client_call_retry_delay_seconds histogram \
http_request_resend_count histogram retry_breaker_state gauge retry_budget_balance gauge \
retry_ends_total counter retry_retries_total counter "
check "each has its type" test "$(typed)" = "$types"
check "and its help" test "$(grep -c '^# HELP [a-z_]* [A-Z1].*\.$' "$work/metrics")" -eq 7

# sum PATTERN: of all samples whose names and labels have it
sum() { awk -v pattern="$1" '$0 !~ /^#/ && $0 ~ pattern { sum += $NF } END { print sum + 0 }' "$work/metrics"; }
check "1000 requests have ended, each once" test "$(sum '^retry_ends_total')" -eq 1000
for cause in 'SUCCESS",cause=""' 'not idempotent' 'budget exhausted' 'circuit breaker'; do
    check "some: $cause" test "$(sum "^retry_ends_total.*$cause")" -gt 0
done
check "some retries of two reasons" test "$(grep -c '^retry_retries_total' "$work/metrics")" -ge 2
check "a wait in two buckets at least" test "$(sed -n 's/.*delay_seconds_bucket.* //p' "$work/metrics" | sort -u | wc -l)" -ge 3

finish
