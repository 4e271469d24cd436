import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import Table from 'cli-table3';
import { Command } from 'commander';
import { z } from 'zod';
import { type Account, findAccount } from '../accounts/accounts.ts';
import type { ImportStage } from '../brand-analytics/import/import-week.ts';
import { type Config, readConfig } from '../config/config.ts';
import { providersOf } from '../config/providers.ts';
import type { Providers } from '../operations/pools.ts';
import type { Operating, Operator } from '../operator/audit.ts';
import { type Database, openDatabase, readTime, STATEMENT_LIMITS } from '../platform/db/pool.ts';
import { createLogger } from '../platform/log.ts';
import { ConfigError } from '../platform/settings.ts';
import { checkPostgres } from '../start/check-services.ts';
import { findOwnServices } from '../start/data-dir.ts';

/** The command cannot be executed. The message says why. */
export class OperatorError extends Error {}

/** PostgreSQL's codes for missing tables, columns and functions. */
const NOT_MIGRATED = new Set(['42P01', '42703', '42883']);

/** Runs `work` on the database of DATABASE_URL, or else on the one of a running `npm start`. */
export async function withDatabase<T>(
  config: Config,
  work: (database: Database) => Promise<T>,
  { connections = 2 }: { connections?: number } = {},
): Promise<T> {
  const url = await databaseUrlOf(config);
  await checkPostgres(url);
  const database = openDatabase(url, createLogger('silent'), {
    max: connections,
    limits: STATEMENT_LIMITS.unlimited,
  });
  try {
    return await work(database);
  } catch (error) {
    if (NOT_MIGRATED.has((error as { code?: string }).code ?? ''))
      throw new OperatorError('The database is not up to date. Run `npm run migrate` first.', {
        cause: error,
      });
    throw error;
  } finally {
    await database.end();
  }
}

/** @throws ConfigError if there is no database. */
export async function databaseUrlOf(config: Config): Promise<string> {
  const url = config.DATABASE_URL ?? (await findOwnServices(resolve(config.SOUK_DATA_DIR))).databaseUrl;
  if (url) return url;
  throw new ConfigError(
    `DATABASE_URL is not set, and \`npm start\` is not running a database in ${config.SOUK_DATA_DIR}. Set DATABASE_URL or run \`npm start\`.`,
  );
}

/** Returns the providers of the service on that database. */
export async function providersInUse(config: Config): Promise<Providers> {
  const own = config.DATABASE_URL ? {} : await findOwnServices(resolve(config.SOUK_DATA_DIR));
  const { DEMO_DATA } = readConfig({ DEMO_DATA: own.demoData });
  return providersOf({ ...config, ...(own.demoData && { DEMO_DATA }) });
}

/** @throws OperatorError if the account does not exist. */
export async function knownAccount(database: Database, id: number): Promise<Account> {
  const account = await findAccount(database, id);
  if (!account) throw noAccount(id);
  return account;
}

export const noAccount = (id: number) => new OperatorError(`Account ${id} does not exist.`);

export { instant, wholeNumber } from '../operator/fields.ts';

/** Validates the command line. @throws OperatorError that names each invalid option. */
export function readInput<Input>(schema: z.ZodType<Input>, given: Record<string, unknown>): Input {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => `${nameOf(String(path[0]))} ${message}`);
  throw new OperatorError(`${[...new Set(faults)].join('; ')}.`);
}

export const accountId = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be an account number; `account list` shows them')
  .transform(Number);

export const email = z
  .string()
  .trim()
  .toLowerCase()
  .max(254, 'must have at most 254 characters')
  .pipe(z.email('must be an e-mail address such as ann@example.com'));

export const accountName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .regex(/^\P{C}*$/u, 'must not have control characters');

/** Returns `--valid-days` for `validDays`, and ID for the argument `id`. */
function nameOf(field: string): string {
  if (field === 'id' || field === 'state') return field.toUpperCase();
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

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

/** The output of a command: `data` for scripts, `text` for people. */
export interface Report {
  data: unknown;
  text: string;
  /** The command exits with an error although it has printed its report. */
  failed?: boolean;
}

type Cell = string | number | Date | null | undefined;

/** Formats a table. Numbers are right-aligned; null is a dash. */
export function table(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return 'None.';
  const drawn = new Table({
    head: [...columns],
    colAligns: columns.map((_, i) =>
      rows.every((row) => typeof row[i] === 'number' || row[i] === null) ? 'right' : 'left',
    ),
    style: { head: [], border: [], compact: true },
  });
  drawn.push(...rows.map((row) => row.map(show)));
  return drawn.toString();
}

/** Formats a time in UTC. */
export function moment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function show(cell: Cell): string {
  if (cell === null || cell === undefined) return '-';
  if (cell instanceof Date) return moment(cell);
  return typeof cell === 'number' ? cell.toLocaleString('en-US') : cell;
}

/** A progress bar of an import, on standard error. */
interface ImportBar {
  /** Shows a stage before the size is known. */
  waiting(what: string): void;
  /** @param size 0 if it is not known. */
  reading(progress: { stage: ImportStage; rows: number; bytes: number; size: number }): void;
  stop(): void;
  elapsedSeconds(): number;
}

export function showImportBar(): ImportBar {
  const bar = new SingleBar({
    format: '{stage} [{bar}] {percentage}% | {rows} rows | {rate} rows/s | {left} left',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  });
  const startedAt = performance.now();
  let readingSince = startedAt;
  bar.start(1, 0, { stage: 'reading', rows: 0, rate: '-', left: '-' });
  return {
    waiting(what) {
      readingSince = performance.now();
      bar.update(0, { stage: what });
    },
    reading({ stage, rows, bytes, size }) {
      const seconds = (performance.now() - readingSince) / 1000;
      const left = size > 0 ? `${Math.ceil((seconds / Math.max(1, bytes)) * (size - bytes))} s` : '?';
      bar.setTotal(Math.max(1, size));
      bar.update(Math.min(bytes, Math.max(1, size)), {
        stage,
        rows: rows.toLocaleString('en-US'),
        rate: Math.round(rows / seconds).toLocaleString('en-US'),
        left: stage === 'reading' ? left : '-',
      });
    },
    stop: () => bar.stop(),
    elapsedSeconds: () => Math.max(1, Math.round((performance.now() - startedAt) / 1000)),
  };
}

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
export function userOfCommand(): Operator {
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
