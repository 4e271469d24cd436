export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** Returns a script that completes subcommands, and the operations of `call`. */
export function completion(shell: Shell, commands: readonly string[], operations: readonly string[]): string {
  const [all, names] = [commands.join(' '), operations.join(' ')];
  if (shell === 'fish')
    return `complete -c souk-client -f -n __fish_use_subcommand -a '${all}'
complete -c souk-client -f -n '__fish_seen_subcommand_from call' -a '${names}'
complete -c souk-client -n '__fish_seen_subcommand_from batch' -l operation -x -a '${names}'
`;
  const bash = `_souk_client() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  if [ "$COMP_CWORD" = 1 ]; then COMPREPLY=($(compgen -W '${all}' -- "$current"))
  elif [ "$previous" = call ] || [ "$previous" = --operation ]; then COMPREPLY=($(compgen -W '${names}' -- "$current"))
  else COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -F _souk_client souk-client
`;
  return shell === 'bash'
    ? bash
    : `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${bash}`;
}
