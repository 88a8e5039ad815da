#compdef climg
# Completion of climg for zsh. The program itself says what an argument may become.

local line
local -a ready ready_shown open open_shown
local word=${(Q)PREFIX}
for line in ${(f)"$(_call_program candidates ${words[1]} --after=${(q)${(Q)words[CURRENT-1]}} --complete=${(q)word} 2>/dev/null)"}; do
    local candidate=${line%%$'\t'*} meaning=${line#*$'\t'}
    local shown=$candidate${meaning:+"  -- $meaning"}
    if [[ $candidate == *= ]]; then
        open+=($candidate) open_shown+=($shown) # its value follows at once
    else
        ready+=($candidate) ready_shown+=($shown)
    fi
done
if (( $#ready + $#open )); then
    compadd -l -d ready_shown -a ready
    compadd -l -S '' -d open_shown -a open
elif [[ $word == *@* ]]; then
    compset -P '*@' # a kernel's file
    _files
else
    _files
fi
