import { hostname, userInfo } from 'node:os';
import { resolve } from 'node:path';
import Table from 'cli-table3';
import { type Argument, Command, Option } from 'commander';
import { z } from 'zod';
import { type Account, findAccount } from '../accounts/accounts.ts';
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
  connections = 2,
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

/** The option and the input of commands on an account. */
export const OF_ACCOUNT = { '--account <ID>': 'number of the account' };
export const ofAccount = z.object({ account: accountId });

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

/** A column of a table: its heading, and the cell of a row. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => Cell];

/** Formats a table. Numbers are right-aligned; null is a dash. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  if (rows.length === 0) return 'None.';
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  const drawn = new Table({
    head: columns.map(([heading]) => heading),
    colAligns: columns.map((_, i) =>
      cells.every((row) => typeof row[i] === 'number' || row[i] === null) ? 'right' : 'left',
    ),
    style: { head: [], border: [], compact: true },
  });
  drawn.push(...cells.map((row) => row.map(show)));
  return drawn.toString();
}

/** Makes a function that reports a list, or one row, as a table. */
export function reportOf<Row extends object>(columns: readonly Column<Row>[]) {
  return (data: Row | readonly Row[]): Report => ({
    data,
    text: table(columns, Array.isArray(data) ? data : [data as Row]),
  });
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

/** Adds commands to a program or group. */
export type AddCommands = (parent: Command) => void;

/** Makes a group of commands, such as `account`. */
export function group(name: string, description: string, commands: readonly AddCommands[]): AddCommands {
  return (parent) => {
    const own = parent.command(name).description(description);
    for (const add of commands) add(own);
  };
}

/** Adds a value to that of the same option before. */
type Joined = (value: string, before: string | undefined) => string;

/** Options or arguments as commander writes them, such as `--days <N>`, with their descriptions. */
type Described = Readonly<Record<string, string>>;

interface CommandParts {
  /** Its name, and arguments that need no description. */
  name: string;
  description: string;
  arguments?: Described;
  required?: Described;
  /** Further options. With a text: their value if they are not given; with a function: they can be given several times. */
  options?: Readonly<Record<string, string | readonly [description: string, more: string | Joined]>>;
}

export interface Context extends Operating {
  env: NodeJS.ProcessEnv;
  config: Config;
}

/** Makes a command that runs on the database and prints its report. @param parts.input reads options and arguments by their names. */
export function command<Input>(
  parts: CommandParts & {
    input?: z.ZodType<Input> | ((context: Context) => z.ZodType<Input>);
    /** Default: 2. */
    connections?: number;
    run(context: Context, input: Input): Promise<Report>;
  },
): AddCommands {
  const { input = z.any(), connections, run } = parts;
  return reporting(parts, (read, env) => {
    const config = readConfig(env);
    const work = async (database: Database) => {
      const context = { database, env, config, operator: userOfCommand(), now: await readTime(database) };
      return run(context, read(typeof input === 'function' ? input(context) : input));
    };
    return withDatabase(config, work, connections);
  });
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

/** Reads the options and arguments of a command. @throws OperatorError that names each invalid one. */
type Read = <Input>(schema: z.ZodType<Input>) => Input;

/** Makes a command that prints its report as text, or with --json as one JSON document. */
export function reporting(
  parts: CommandParts,
  run: (read: Read, env: NodeJS.ProcessEnv) => Promise<Report>,
): AddCommands {
  const { name, description, required = {}, options = {} } = parts;
  return (parent) => {
    const own = parent.command(name).description(description);
    for (const [argument, text] of Object.entries(parts.arguments ?? {})) own.argument(argument, text);
    for (const [flags, text] of Object.entries(required)) own.requiredOption(flags, text);
    for (const [flags, of] of Object.entries(options)) own.addOption(optionOf(flags, of));
    own.option('--json', 'prints one JSON document, for scripts').action(async () => {
      const bare = own.registeredArguments.map((one, i) => [fieldOf(one), own.args[i]]);
      const { json, ...given } = own.opts<Record<string, unknown>>();
      const program = programOf(own);
      const read: Read = (schema) => readInput(own, schema, { ...given, ...Object.fromEntries(bare) });
      const { data, text, failed } = await run(read, program.terminal.env);
      program.terminal.write(`${json ? JSON.stringify(data, null, 2) : text}\n`);
      if (failed) program.failed = true;
    });
  };
}

function optionOf(flags: string, of: string | readonly [description: string, more: string | Joined]): Option {
  const [description, more] = typeof of === 'string' ? [of] : of;
  const option = new Option(flags, description);
  if (typeof more === 'function') return option.argParser(more);
  return more === undefined ? option : option.default(more);
}

const fieldOf = (argument: Argument) => argument.name().toLowerCase();

function readInput<Input>(
  { registeredArguments }: Command,
  schema: z.ZodType<Input>,
  given: Record<string, unknown>,
): Input {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const nameOf = (field: string) =>
    registeredArguments.find((one) => fieldOf(one) === field)?.name() ?? optionName(field);
  const faults = result.error.issues.map(({ path, message }) => `${nameOf(String(path[0]))} ${message}`);
  throw new OperatorError(`${[...new Set(faults)].join('; ')}.`);
}

/** Returns `--valid-days` for `validDays`. */
export function optionName(field: string): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
