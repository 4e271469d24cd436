import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { inject } from 'vitest';
import { runCommand } from '../../src/cli/program.ts';

/** The result of a run of the operator's command. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

type Run = (words: readonly string[], settings: Record<string, string>) => Promise<CommandResult>;

/** The operator's command in this process, with only these settings. */
export function soukCommand(settings: Record<string, string>) {
  return commandThat(inThisProcess, settings);
}

/** The same command as a separate process. */
export function soukProcess(settings: Record<string, string>) {
  return commandThat(asProcess, settings);
}

async function inThisProcess(words: readonly string[], env: Record<string, string>): Promise<CommandResult> {
  const said = { stdout: '', stderr: '' };
  const code = await runCommand(words, {
    env,
    write: (text) => {
      said.stdout += text;
    },
    writeError: (text) => {
      said.stderr += text;
    },
  });
  return { code, ...said };
}

async function asProcess(words: readonly string[], settings: Record<string, string>): Promise<CommandResult> {
  const { PATH = '', HOME = '', LANG = '' } = process.env;
  const child = spawn(process.execPath, [join(inject('programs'), 'src/cli.js'), ...words], {
    cwd: resolve('.'),
    env: { PATH, HOME, LANG, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
    });
  }
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, ...said };
}

function commandThat(start: Run, settings: Record<string, string>) {
  /** @param line words with no spaces inside, or the list of them. */
  const run = (line: string | readonly string[], more: Record<string, string> = {}) =>
    start(typeof line === 'string' ? line.split(' ') : line, { ...settings, ...more });

  return {
    run,

    /** Returns the text output of a command that must succeed. */
    async text(line: string | readonly string[]): Promise<string> {
      const { code, stdout, stderr } = await run(line);
      if (code !== 0 || stderr) throw new Error(`souk ${String(line)} ended with ${code}: ${stderr}`);
      return stdout;
    },

    /** Returns the JSON output of a command that must succeed. */
    // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every shape.
    async json(line: string | readonly string[]): Promise<any> {
      const words = typeof line === 'string' ? line.split(' ') : line;
      return JSON.parse(await this.text([...words, '--json']));
    },
  };
}

export type SoukCommand = ReturnType<typeof soukCommand>;
