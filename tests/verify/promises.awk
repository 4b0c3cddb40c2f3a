# The functions of proofs (*.acsl) whose contracts have no `ensures`: they are proved to end without a
# run-time error, and nothing more. Usage: awk -f promises.awk PROOFS...
/^@contract/ { contracts[name = $2]; next }
/^@trusted/ { trusted[$2] }
/^@/ { name = "" }
/ensures/ { promises[name] }
END {
    for (name in contracts)
        if (!(name in promises) && !(name in trusted))
            print name
}
