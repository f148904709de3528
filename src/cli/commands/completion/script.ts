import process from 'node:process';
import { RootCommand } from '@bomb.sh/tab';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/*
 * The scripts for bash and zsh are our own. The ones of the library hand the line, or a part of it, to `eval`, so that
 * a `$(…)` in it would run at each TAB; that for bash also takes the functions of the package bash-completion.
 */

const BASH = `# bash completion of muster: source <(muster completion bash)
_muster() {
  local IFS=$' \\t\\n' line=\${COMP_LINE:0:COMP_POINT} tab=$'\\t' value
  local -a words
  # The words as they were typed: nothing of them is carried out.
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  COMPREPLY=()
  while IFS= read -r value; do
    case $value in
      :0) compopt -o default 2>/dev/null ;;
      :*) ;;
      *) COMPREPLY+=("\${value%%"$tab"*}") ;;
    esac
  done < <(muster complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _muster muster
`;

const ZSH = `#compdef muster
# zsh completion of muster: source <(muster completion zsh)
_muster() {
  local tab=$'\\t' value files=''
  local -a found
  # The words as they were typed: nothing of them is carried out.
  while IFS= read -r value; do
    case $value in
      (:0) files=yes ;;
      (:*) ;;
      (*$tab?*) found+=("\${\${value%%$tab*}//:/\\\\:}:\${value#*$tab}") ;;
      (*) found+=("\${\${value%%$tab*}//:/\\\\:}") ;;
    esac
  done < <(muster complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  # What is found is the value alone.
  if [[ $PREFIX == --*=* ]]; then compset -P 1 '*='; fi
  if [[ -n $files ]]; then _files; else _describe muster found; fi
}
# A file of fpath is the function itself at its first call.
if [[ \${funcstack[1]} == _muster ]]; then _muster "$@"; else compdef _muster muster; fi
`;

/** Prints the script that makes a shell ask `muster complete` at each TAB. */
export function printScript(shell: Shell): void {
  if (shell === 'fish') new RootCommand().setup('muster', 'muster', shell);
  else process.stdout.write(shell === 'bash' ? BASH : ZSH);
}
