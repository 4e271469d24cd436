import { Command } from 'commander';

/** Where a command reads its settings and writes its output. */
export interface Terminal {
  env: NodeJS.ProcessEnv;
  write(text: string): void;
  writeError(text: string): void;
}

/** The operator's command. */
export class SoukProgram extends Command {
  /** Set by a command that ran and reports a failure. */
  failed = false;
  readonly terminal: Terminal;

  constructor(terminal: Terminal) {
    super('souk');
    this.terminal = terminal;
    // Commander throws instead of exiting, so that the caller decides on the exit code. Subcommands inherit both settings.
    this.exitOverride().configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.writeError(text),
    });
  }
}

/** The program that a command belongs to. */
export function programOf(command: Command): SoukProgram {
  const root = command.parent;
  if (command instanceof SoukProgram) return command;
  if (!root) throw new Error(`The command ${command.name()} belongs to no program.`);
  return programOf(root);
}
