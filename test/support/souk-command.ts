import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

/** How a run of the operator's command has ended. */
export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The operator's command as a process of its own, with these settings and none of this test run's. */
export function soukCommand(settings: Record<string, string>) {
  const { PATH = '', HOME = '', LANG = '' } = process.env;

  /** @param line words with no spaces inside, or the list of them. */
  async function run(
    line: string | readonly string[],
    more: Record<string, string> = {},
  ): Promise<CommandResult> {
    const words = typeof line === 'string' ? line.split(' ') : line;
    const child = spawn(process.execPath, ['scripts/run.mjs', 'src/cli.ts', ...words], {
      cwd: resolve('.'),
      env: { PATH, HOME, LANG, ...settings, ...more },
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

  return {
    run,

    /** The lines for people of a command that must succeed. */
    async text(line: string | readonly string[]): Promise<string> {
      const { code, stdout, stderr } = await run(line);
      if (code !== 0 || stderr) throw new Error(`souk ${String(line)} ended with ${code}: ${stderr}`);
      return stdout;
    },

    /** The document for scripts of a command that must succeed. */
    // biome-ignore lint/suspicious/noExplicitAny: tests look into documents of every shape.
    async json(line: string | readonly string[]): Promise<any> {
      const words = typeof line === 'string' ? line.split(' ') : line;
      return JSON.parse(await this.text([...words, '--json']));
    },
  };
}

export type SoukCommand = ReturnType<typeof soukCommand>;
