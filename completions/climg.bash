# Completion of climg for bash. The program itself says what an argument may become.

_climg_files()
{
    local pattern
    for pattern in $("$1" --after=--format --complete= 2>/dev/null | cut -f 1); do
        compgen -f -X "!*.$pattern" -- "$2"
        compgen -f -X "!*.${pattern^^}" -- "$2"
    done
    compgen -d -- "$2"
}

_climg()
{
    local at=$COMP_CWORD piece=${COMP_WORDS[COMP_CWORD]} climg=${COMP_WORDS[0]/#\~/$HOME} argument head IFS=$' \t\n'
    # Bash breaks arguments at = : and @, and completes the last piece. Here it is whole again;
    # no argument of climg begins with = or :, but one may with @.
    argument=$piece
    [[ $piece == [=:@] ]] && piece=
    while ((at > 1)) && [[ ${COMP_WORDS[at]} == [=:]* || ${COMP_WORDS[at - 1]} == *[=:@] ]]; do
        at=$((at - 1))
        argument=${COMP_WORDS[at]}$argument
    done
    head=${argument%"$piece"}
    mapfile -t COMPREPLY < <("$climg" --after="${COMP_WORDS[at - 1]}" --complete="$argument" 2>/dev/null | cut -f 1)
    if ((${#COMPREPLY[@]} == 0)) && [[ $head == *@ ]]; then
        mapfile -t COMPREPLY < <(compgen -f -P "$head" -- "$piece") # a kernel's file
        compopt -o filenames 2>/dev/null
    elif ((${#COMPREPLY[@]} == 0)) && [[ $argument != -* ]]; then
        mapfile -t COMPREPLY < <(_climg_files "$climg" "$argument")
        ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$argument") # a list or a profile
        compopt -o filenames 2>/dev/null
    fi
    COMPREPLY=("${COMPREPLY[@]#"$head"}")
    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -F _climg climg
