#!/bin/sh
# Nothing new without a test, and nothing that went stale: what the headers make public is named in a test
# of its subject, and what lists quote of their code is still there. Usage: test_fresh.sh, from the top
# folder. The last line is "N passed, N failed".
. "$(dirname "$0")/../support/check.sh"
tools=tests/tools
verify=tests/verify

says_nothing() { # COMMAND...
    "$@" > "$work/said" 2>&1
    [ ! -s "$work/said" ] || { cat "$work/said"; false; }
}
for header in retry.h errmap.h; do
    awk -f $tools/public.awk $header > "$work/public.$header"
    awk -f $tools/functions.awk $header > "$work/functions.$header"
done
cat "$work"/functions.* > "$work/functions"
check "some hundred public names" test "$(cat "$work"/public.* | wc -l)" -gt 400
check "some hundred functions" test "$(wc -l < "$work/functions")" -gt 400
for header in retry.h errmap.h; do
    check "$header: what is public is named in a test of its subject" \
        says_nothing awk -f $tools/named.awk $tools/subjects.txt "$work/public.$header"
done
for test in $(sed '/^#/d; s/.*: //' $tools/subjects.txt); do
    check "subjects.txt: tests/$test" test -e "tests/$test"
done
titles() { # which no line of subjects.txt begins with
    cut -f 2 "$work/functions" | sort -u | grep . | while read -r title; do
        grep -q -F "$title: " $tools/subjects.txt || echo "which tests are about \"$title\"? ($tools/subjects.txt)"
    done
}
check "subjects.txt has every section of the code" says_nothing titles
check "mutants.txt quotes lines that are there (else take them out: make mutants says what is new)" \
    says_nothing awk -f $tools/quoted.awk "$work/functions" $verify/mutants.txt
check "models of threads: functions do what models.txt says (models.sh)" quiet sh $verify/models.sh
finish
