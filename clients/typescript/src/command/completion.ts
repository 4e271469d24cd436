import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** Returns a script that completes the subcommands of a command, their options, and the values that these accept. */
export function completion(shell: Shell, program: Command): string {
  const commands = program.commands.map(completedOf);
  if (shell === 'fish') return fishScript(program.name(), commands);
  const script = bashScript(program.name(), commands);
  if (shell === 'bash') return script;
  return `autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${script}`;
}

interface Completed {
  name: string;
  /** Whether its first argument may be the name of a file. */
  takesFile: boolean;
  /** The values of its first argument, if they are known. */
  values: readonly string[];
  options: readonly CompletedOption[];
}

interface CompletedOption {
  /** `--output` and `-o`. */
  flags: readonly string[];
  description: string;
  takesValue: boolean;
  values: readonly string[];
}

function completedOf(command: Command): Completed {
  const [argument] = command.registeredArguments;
  return {
    name: command.name(),
    takesFile: argument?.name() === 'file',
    values: argument?.argChoices ?? [],
    options: command.options.map(({ long, short, description, required, argChoices }) => ({
      flags: [long, short].filter((flag) => typeof flag === 'string'),
      description,
      takesValue: required,
      values: argChoices ?? [],
    })),
  };
}

/** Without a match, bash and zsh complete names of files. */
function bashScript(program: string, commands: readonly Completed[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const cases = commands.flatMap(({ name, values, options }) => [
    { pattern: `'${name} ${name} '*`, words: values },
    ...options.flatMap(({ flags, values: words }) =>
      flags.map((flag) => ({ pattern: `'${name} ${flag} '*`, words })),
    ),
    { pattern: `'${name} '*' -'*`, words: options.flatMap(({ flags }) => flags.slice(0, 1)) },
  ]);
  const lines = cases
    .filter(({ words }) => words.length > 0)
    .map(({ pattern, words }) => `      ${pattern}) words='${words.join(' ')}' ;;`);
  return `_souk_client() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=
  if [ "$COMP_CWORD" = 1 ]; then words='${names}'
  else
    case "\${COMP_WORDS[1]} \${COMP_WORDS[COMP_CWORD-1]} $current" in
${lines.join('\n')}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _souk_client ${program}
`;
}

function fishScript(program: string, commands: readonly Completed[]): string {
  const line = (condition: string, rest: string) => `complete -c ${program} -n '${condition}' ${rest}\n`;
  const names = commands.map(({ name }) => name).join(' ');
  const lines = commands.flatMap(({ name, takesFile, values, options }) => {
    const isGiven = `__fish_seen_subcommand_from ${name}`;
    return [
      ...(takesFile ? [] : [line(isGiven, '-f')]),
      ...(values.length > 0
        ? [line(`${isGiven}; and __fish_is_nth_token 2`, `-a '${values.join(' ')}'`)]
        : []),
      ...options.map((option) => line(isGiven, fishOption(option))),
    ];
  });
  return `${line('__fish_use_subcommand', `-f -a '${names}'`)}${lines.join('')}`;
}

function fishOption({ flags, description, takesValue, values }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const accepted = values.length > 0 ? [`-x -a '${values.join(' ')}'`] : takesValue ? ['-r'] : [];
  return [...names, ...accepted, `-d '${description.replaceAll("'", "\\'")}'`].join(' ');
}
