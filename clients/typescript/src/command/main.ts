import { CommanderError } from 'commander';
import { SoukError } from '../errors.ts';
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
    if (!(error instanceof CommanderError)) process.stderr.write(`${textOf(error)}\n`);
    process.exitCode = 1;
  });

function textOf(error: unknown): string {
  const { message } = error as Error;
  return error instanceof SoukError ? `${error.code}: ${message}` : message;
}
