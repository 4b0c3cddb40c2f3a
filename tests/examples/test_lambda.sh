#!/bin/sh
# lambda.cpp, built as C++11 and as C++20. Usage: test_lambda.sh PATH_OF_LAMBDA, from the top folder.
# The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"

cat >"$work/expected" <<'END'
get visits, call 1
get visits, call 2
get visits, call 3
get visits, call 4
visits is 42
increment visits
connection lost, perhaps done
there is no page
END
run() { # NAME PROGRAM
    "$2" >"$work/$1" 2>&1
    echo $? >"$work/$1.status"
    check "$1: exit status" ended "$1" 0
    check "$1: output" quiet diff "$work/expected" "$work/$1"
}

run make "$1"
for std in c++11 c++20; do
    check "$std: compiles" quiet ${CXX:-c++} -std=$std -Wall -Wextra -Wpedantic ${WERROR--Werror} \
        -o "$work/lambda" examples/lambda.cpp
    run $std "$work/lambda"
done

# Nobody is called where a gate refuses; an exception that is no std::exception comes through.
cat >"$work/other.cpp" <<'END'
#define main lambda_main
#include "examples/lambda.cpp"
#undef main
int main()
{
    retry_breaker breaker = {};
    retry_gates gates = {};
    retry_client client = {};
    retry_operation op = {};
    bool called = false;
    client.gates = &gates;
    op.client = &client;
    retry_gates_breaker(&gates, &breaker);
    try {
        with_retries(op, NULL, [&](retry_ms) { throw 42; });
    } catch (int number) {
        std::cout << "an int: " << number << "\n";
    }
    retry_breaker_set(&breaker, RETRY_BREAKER_OPEN, retry_system_clock().now(nullptr));
    try {
        with_retries(op, NULL, [&](retry_ms) { called = true; });
    } catch (const std::runtime_error &e) {
        std::cout << "refused: " << e.what() << (called ? ", called" : "") << "\n";
    }
}
END
check "a program with a gate: compiles" quiet ${CXX:-c++} -std=c++11 -I. -o "$work/other" "$work/other.cpp"
"$work/other" >"$work/other.out"
check "any exception comes through" shows other.out "^an int: 42\$"
check "a refusal is one" shows other.out "^refused: [a-z ]*\$"

finish
