#!/bin/sh
# metrics.c, whose output promtool reads. Usage: test_metrics.sh PATH_OF_METRICS
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

# sum PATTERN: of all samples whose names and labels have it
sum() { awk -v pattern="$1" '$0 !~ /^#/ && $0 ~ pattern { sum += $NF } END { print sum + 0 }' "$work/metrics"; }
same() { [ "$(sum "$1")" -gt 0 ] && [ "$(sum "$1")" -eq "$(sum "$2")" ]; }
retries='^grpc_client_attempt_started_total.*"retry"'
check "every retry has a reason" same '^retry_retries_total' "$retries"
check "every request's retries are in the histogram" same '^http_request_resend_count_sum' "$retries"
check "every end is in the histograms" same '^retry_ends_total' '^http_request_resend_count_count'
check "both of them" same '^http_request_resend_count_count' '^grpc_client_call_retry_delay_seconds_count'
check "their last buckets are all" same '^http_request_resend_count_bucket.*Inf' '^http_request_resend_count_count'
check "1000 requests have ended, each once" test "$(sum '^retry_ends_total')" -eq 1000
check "those that a gate refused were not sent" test \
    $(($(sum '"original"') + $(sum 'circuit breaker is open'))) -eq 1000
for cause in SUCCESS 'not idempotent' 'budget exhausted' 'circuit breaker'; do
    check "some: $cause" test "$(sum "^retry_ends_total.*$cause")" -gt 0
done
check "the breaker is in one state" test "$(sum '^retry_breaker_state')" -eq 1

finish
