import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import { readConfig } from '../config/config.ts';
import type { Operating, Operator } from '../operator/audit/audit-log.ts';
import { readTime } from '../platform/db/database-clock.ts';
import { withDatabase } from './operator-database.ts';
import type { Report } from './report.ts';
import { programOf } from './terminal.ts';

/** Values of the command line: options and arguments by name. */
export type Given = Record<string, unknown>;

export interface Context extends Operating {
  env: NodeJS.ProcessEnv;
}

/** Makes a command run on the database and print its report. */
export function onDatabase(
  command: Command,
  run: (context: Context, given: Given) => Promise<Report>,
  options: { connections?: number } = {},
): void {
  reporting(command, (given, env) =>
    withDatabase(
      readConfig(env),
      async (database) =>
        run({ database, env, operator: userOfCommand(), now: await readTime(database) }, given),
      options,
    ),
  );
}

/** The user and host of this process, for the audit log. */
function userOfCommand(): Operator {
  let user: string;
  try {
    user = userInfo().username;
  } catch {
    // A container may run under a user without a name.
    user = String(process.getuid?.() ?? 'unknown');
  }
  return { channel: 'command', name: `${user}@${hostname()}`, address: null };
}

/** Makes a command print its report as text, or with --json as one JSON document. */
export function reporting(
  command: Command,
  run: (given: Given, env: NodeJS.ProcessEnv) => Promise<Report>,
): void {
  command.option('--json', 'prints one JSON document, for scripts').action(async () => {
    const names = command.registeredArguments.map((argument) => argument.name().toLowerCase());
    const bare = Object.fromEntries(names.map((name, i) => [name, command.args[i]]));
    const { json, ...given } = command.opts<Given>();
    const program = programOf(command);
    const { data, text, failed } = await run({ ...given, ...bare }, program.terminal.env);
    program.terminal.write(`${json ? JSON.stringify(data, null, 2) : text}\n`);
    if (failed) program.failed = true;
  });
}
