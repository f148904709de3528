import process from 'node:process';
import { RootCommand } from '@bomb.sh/tab';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * The one for bash is our own. That of the library hands the line to `eval`, so that a `$(…)` in it would run at each
 * TAB; it also takes the functions of the package bash-completion.
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

/** Prints the script that makes a shell ask `muster complete` at each TAB. */
export function printScript(shell: Shell): void {
  if (shell === 'bash') process.stdout.write(BASH);
  else new RootCommand().setup('muster', 'muster', shell);
}
