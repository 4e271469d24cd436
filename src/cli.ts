import { CommanderError } from 'commander';
import { buildProgram } from './cli/program.ts';
import { maskSecrets } from './platform/log.ts';

/** `npm run souk -- <command>`. Ends with 0, with 1 and a sentence when something is wrong, with 2 when it was called wrongly. */
const USAGE_ERROR = 2;

try {
  await buildProgram().parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // It has said what was wrong already, or printed the help that was asked for.
    process.exitCode = error.exitCode === 0 ? 0 : USAGE_ERROR;
  } else {
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${maskSecrets(message)}\n`);
    process.exitCode = 1;
  }
}
