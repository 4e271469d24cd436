import { CommanderError } from 'commander';
import { createProgram } from './program.ts';

const controller = new AbortController();
process.once('SIGINT', () => controller.abort(new Error('Stopped. Run the same command to continue.')));

const terminal = {
  env: process.env,
  write: (text: string | Uint8Array) => void process.stdout.write(text),
  signal: controller.signal,
};

createProgram(terminal)
  .parseAsync()
  .catch((error: Error) => {
    if (!(error instanceof CommanderError)) process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  });
