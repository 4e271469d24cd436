import { resolve } from 'node:path';
import { type Account, findAccount } from '../accounts/accounts.ts';
import { type Config, readConfig } from '../config/config.ts';
import { providersOf } from '../config/providers.ts';
import type { Providers } from '../operations/providers.ts';
import { type Database, openDatabase, STATEMENT_LIMITS } from '../platform/db/pool.ts';
import { createLogger } from '../platform/log.ts';
import { ConfigError } from '../platform/settings.ts';
import { checkPostgres } from '../start/check-services.ts';
import { findOwnServices } from '../start/own-services.ts';
import { OperatorError } from './operator-error.ts';

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
