# Completes retry's options in bash, then the command's name and files.
_retry() {
    local word=${COMP_WORDS[COMP_CWORD]} help i
    help=$(retry --help)
    for ((i = 1; i < COMP_CWORD; i++)); do # is the word behind an option, or its argument?
        [[ ${COMP_WORDS[i]} == -?* ]] || break
        [[ ! $help =~ ${COMP_WORDS[i]}' '[A-Z] && ! $help =~ ${COMP_WORDS[i]}', '--[a-z]+' '[A-Z] ]] || ((i++))
    done
    if [[ $i -eq $COMP_CWORD && $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(grep -o -e '^  [ -].*--[a-z-]*' <<<"$help" | tr -s ', ' '\n')" -- "$word")
    elif [[ $i -eq $COMP_CWORD ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
    fi
}
complete -o default -F _retry retry
