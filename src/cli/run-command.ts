import { CommanderError } from 'commander';
import { maskSecrets } from '../platform/log.ts';
import { registerCommands } from './program.ts';
import { SoukProgram, type Terminal } from './terminal.ts';

/** The command failed; standard error says why. */
const FAILED = 1;
/** The command line was not valid. */
const USAGE_ERROR = 2;

/** Runs the operator's command. @param words the command line without the program. @returns the exit code: 0, 1 or 2. */
export async function runCommand(words: readonly string[], terminal: Terminal): Promise<number> {
  const program = new SoukProgram(terminal);
  registerCommands(program);
  try {
    await program.parseAsync(words, { from: 'user' });
    return program.failed ? FAILED : 0;
  } catch (error) {
    // Commander has already printed its message or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    terminal.writeError(`${maskSecrets(error instanceof Error ? error.message : String(error))}\n`);
    return FAILED;
  }
}
