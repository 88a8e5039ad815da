# Completion of climg for fish. The program itself says what an argument may become.

function __climg_candidates
    set -l typed (commandline --current-process --tokenize --cut-at-cursor)
    set -l word (commandline --current-token --cut-at-cursor)
    $typed[1] --after=$typed[-1] --complete=$word 2>/dev/null
    # A kernel's file.
    if set -l head (string match --regex '^.*@' -- $word)
        printf '%s\n' $head(__fish_complete_path (string sub --start (math (string length $head) + 1) -- $word))
    end
end

complete --command climg --arguments '(__climg_candidates)'
