#!/bin/sh
# The recipes, each on what its script recipe_NAME.sh breaks and judges: all verdicts hold, the page says what was
# measured, and a decisive line that is changed breaks a verdict. Usage: test_recipes.sh BUILD
# [NAME...], from the top folder. CC and CXX name the compilers. Nothing here looks at the clock. The last line is
# "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
here=$(dirname "$0")
build=$1
shift
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-qual -Wundef ${WERROR--Werror}"

# What the recipe's first comment compiles it with.
libraries() { sed -n "s|.*cc -o $1 examples/recipes/$1.c||p" "examples/recipes/$1.c"; }

# judge RUN NAME PROGRAM: output in RUN, exit status in RUN.status
judge() {
    sh "$here/recipe_$2.sh" "$3" > "$work/$1" 2>&1
    echo $? > "$work/$1.status"
}
# changed RUN FILE EXPRESSION VERDICT: $name's, with one file changed by sed, is to break the verdict
changed() {
    copy=$work/$name.$1.copy
    mkdir -p "$copy/examples"
    cp -r examples/recipes "$copy/examples"
    ln -s "$PWD/retry.h" "$copy"
    ln -s "$PWD/examples/storm" "$copy/examples"
    sed -i "$3" "$copy/examples/recipes/$2"
    check "$name, $1: is changed" differs "examples/recipes/$2" "$copy/examples/recipes/$2"
    # shellcheck disable=SC2046 # a word each
    check "$name, $1: compiles" makes "$copy/$name" ${CC:-cc} -std=c99 -O1 \
        "$copy/examples/recipes/$name.c" $(libraries "$name")
    echo "$1	$4" >>"$work/$name.changed"
    judge "$name.$1" "$name" "$copy/$name" &
}
# Numbers but those of a simulation differ from run to run: the verdicts hold them.
plain() { [ "$name" = fleet ] && cat "$1" || sed 's/[0-9][0-9.]*[0-9]\|[0-9]/#/g; s/# *\(# *\)*/# /g' "$1"; }
same() { # FILE FILE
    plain "$1" >"$work/plain"
    plain "$2" | diff "$work/plain" -
}
# Ends a run at its first fault: no server is left.
interrupt() {
    mkdir "$work/$name.cut"
    cp "$work/$name" "$work/$name.cut"
    sh "$here/recipe_$name.sh" "$work/$name.cut/$name" >"$work/$name.cut/out" 2>&1 &
    pid=$!
    wait_for "$name.cut/out" "frozen\|dark"
    kill -s TERM $pid
    wait $pid
    check "$name, interrupted: exit status" test $? -eq 143
    check "$name, interrupted: the servers are gone" eventually none_left "$work/$name.cut/$name.run"
}
none_left() { # FOLDER
    ! kill -0 "$(cat "$1/server.pid")" 2>/dev/null && no_process "$1"
}
mutants() { # of $name
    case $name in
    http)
        changed unsent http.h 's/ call->sent);/ false);/' "No POST was carried out twice"
        changed certain http.c 's/op.ambiguous ? "perhaps"/false ? "perhaps"/' \
            "Nothing that was reported failed was"
        changed made http.c 's/creates \&\& failure/false \&\& failure/' "What was created"
        changed exists http.c 's/409 \&\& op->ambiguous/409/' "What was created"
        changed keyless http.c 's/= key || /= /' "A POST with a key is done"
        # libcurl alone sends a POST again on a connection that died, unless it is asked first.
        changed reuses http.h 's/again ? CURL/false ? CURL/' "No POST was carried out twice"
        # A proxy's word for a proof that nothing was done.
        changed refused http.h 's/(int)status, http/status == 503 ? 429 : (int)status, http/' \
            "No POST was carried out twice"
        changed whole http.h 's/ || (status >= 400 && code != CURLE_COULDNT_CONNECT)//' "Who is told that by half an answer"
        changed stays http.h 's/ \&\& !call->headed//' "Who is sent elsewhere"
        changed at-once http.h 's/http_retry_after(call->curl)/0/' "Who was told to wait"
        ;;
    batch)
        changed resent batch.c 's/= "perhaps"; [/][*]/= NULL; \/*/' "No command was done twice"
        changed certain batch.c 's/= "perhaps"; [/][*]/= "failed"; \/*/' "None that was reported failed"
        changed sent batch.c 's/RETRY_SAFETY_YES/RETRY_SAFETY_MAYBE/' "Only one piece of a batch"
        changed early batch.c 's/strncmp(answer, "-LOADING", 8) != 0/true/' "Only what Redis refused"
        ;;
    delay)
        changed six delay.c 's/!try_it()/retries < 6 \&\& &/' "The loop lasts"
        changed even delay.c 's/5000, retries/5000, 0/' "No wait was shorter"
        changed any delay.c 's/RATIO(0.5)/RATIO(0)/' "No wait was shorter"
        make -s cut PARTS="delay retry_draw" PREFIX=mylib_ OUT="$work/mylib_retry.h"
        sed 's/retry_/mylib_retry_/g; s/RETRY_/MYLIB_RETRY_/g; s|"../../retry.h"|"mylib_retry.h"|' \
            examples/recipes/delay.c >"$work/cut.c"
        check "delay, cut out: compiles" makes "$work/cut" ${CC:-cc} -std=c99 -I"$work" "$work/cut.c" -lcurl
        judge alone delay "$work/cut"
        check "delay, cut out: none broken" ended alone 0
        ;;
    hedge)
        changed alone hedge.c 's/hedge.count = 1/hedge.count = 0/' "99 of 100 take"
        changed once hedge.c 's/idempotent = true/idempotent = false/' "99 of 100 take"
        changed late hedge.c 's/hedge.delay = 50/hedge.delay = 900/' "99 of 100 take"
        ;;
    nodes)
        changed equal nodes.c '/rank = /d' "The spare was not asked"
        changed once nodes.c 's/idempotent = true/idempotent = false/' "Everything was done"
        ;;
    rate)
        changed free rate.c '/retry_gates_rate/d' "nginx answered 429 to none"
        changed even rate.c 's/RETRY_TOKENS(burst)/RETRY_TOKENS(1)/' "The first ten"
        ;;
    fleet)
        changed together fleet.c 's/retry_after_spread = RETRY_RATIO(0.5)/retry_after_spread = 1/' "Those who are told to wait"
        changed unpaid fleet.c 's/retry_service_init(service, now);/service->gates.in_flight = now;/' \
            "It sends less"
        ;;
    shared)
        changed private shared.c 's/MAP_SHARED/MAP_PRIVATE/' "Before anything"
        changed empty shared.c '/retry_budget_init/d' "There were some"
        changed own shared.c '/client.budget = budget/d' "Before anything"
        ;;
    loop)
        changed twice loop.c 's/idempotent = false/idempotent = true/' "None counted twice"
        changed unsent loop.c 's/(error, sent)/(error, false)/' "Four that timed out"
        changed silent loop.c 's/(connects(i) \&\&/(false \&\&/' "An increment whose connection"
        ;;
    locked)
        changed half locked.c 's/!run("ROLLBACK")/false/' "No money came or went"
        changed final locked.c 's/if (conflict)/if (false)/' "Each transaction is done"
        changed sent locked.c 's/: RETRY_SAFETY_YES/: RETRY_SAFETY_MAYBE/' "Each transaction is done"
        ;;
    reconnect)
        changed at-once reconnect.c 's/wait = retry_connection_failed.*/wait = 100;/' "Attempts to connect"
        changed even reconnect.c 's/retry_ms timeout =/memset(\&connection, 0, sizeof connection);&/' \
            "Attempts to connect"
        changed unanswered reconnect.c 's/> 12 && strncmp.* == 0;/> -2;/' "The program has ended"
        ;;
    transaction)
        changed twice transaction.c 's/idempotent = false/idempotent = true/' "No transfer was made twice"
        changed unsent transaction.c 's/commit ? RETRY_SAFETY_MAYBE :/false ? 0 :/' "No transfer was made twice"
        changed sent transaction.c 's/: RETRY_SAFETY_YES/: RETRY_SAFETY_MAYBE/' "What was lost before its COMMIT"
        changed final transaction.c 's/else if (conflict \&\&/else if (false \&\&/' "What was lost before its COMMIT"
        changed paid transaction.c 's/RETRY_REASON_FREE | //' "What is in conflict"
        changed certain transaction.c 's/(!op.ambiguous)/(true)/' "None that was reported failed"
        changed blind transaction.c 's/READ COMMITTED/SERIALIZABLE/' "None that was reported failed"
        changed blocks transaction.c 's/reconnect();/PQreset(connection);/' "Who connects to a frozen"
        changed endless transaction.c 's/op->code_retries < CONFLICTS/true/' "What is in conflict"
        changed unseen transaction.c 's/return found ? "done" : "failed"/return "done"/' \
            "Every one that was reported done"
        ;;
    esac
}

[ $# -gt 0 ] || set -- $(basename -s .c examples/recipes/*.c)
for name in "$@"; do
    : >"$work/$name.changed"
    cp "$build/recipes/$name" "$work/$name"
    judge sound "$name" "$work/$name"
    check "$name: exit status" ended sound 0
    check "$name: some verdicts" shows sound '^kept '
    check "$name: none broken" lacks sound '^BROKEN'
    check "$name: 80 columns" lacks sound '.\{81\}'
    BUILD=$work sh tests/verify/recipes.sh --measured "$name" >"$work/page"
    check "$name: the page has what was measured" same "$work/page" "$work/$name.run/measured"
    # The simulation is C alone.
    # shellcheck disable=SC2046,SC2086
    [ "$name" = fleet ] || check "$name.c, as C++" quiet ${CXX:-c++} -x c++ -std=c++11 $warnings -fsyntax-only \
        "examples/recipes/$name.c" $(libraries "$name")
    case $name in http | transaction | nodes | loop) interrupt ;; esac
    mutants
    wait
    while IFS='	' read -r run verdict; do
        check "$name, $run: exit status" ended "$name.$run" 1
        check "$name, $run: $verdict" shows "$name.$run" "^BROKEN  $verdict"
    done <"$work/$name.changed"
done
finish
