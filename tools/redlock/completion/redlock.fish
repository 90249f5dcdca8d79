# SPDX-License-Identifier: MIT
# Completion of redlock for fish. The command itself says what may follow: see complete.h.
function __redlock_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l answer (printf '%s\n' $words[2..] "$typed" | command redlock completion words 2>/dev/null)
    set -l option (string match -r '^--[^=]*=' -- "$typed")
    set -l value (string replace -r '^--[^=]*=' '' -- "$typed")
    switch "$answer[1]"
        case words
            string join \n -- $answer[2..]
        case files
            printf '%s\n' "$option"(__fish_complete_path "$value")
        case directories
            printf '%s\n' "$option"(__fish_complete_directories "$value")
        case 'command *'
            set -l first (math (string replace 'command ' '' -- "$answer[1]") + 2)
            complete -C (string join ' ' -- (string escape -- $words[$first..]) "$typed")
    end
end
complete -c redlock -f -a '(__redlock_complete)'
