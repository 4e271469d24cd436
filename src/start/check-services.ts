import { openDatabase } from '../platform/db/pool.ts';
import { createLogger, maskSecrets } from '../platform/log.ts';
import { connectRedis } from '../platform/redis.ts';
import { createHttpClient } from '../upstream/http-client.ts';
import type { ProviderAccount } from '../upstream/provider-accounts.ts';

const OLDEST_POSTGRES = 14;
const OLDEST_REDIS = [6, 2] as const;
const PROVIDER_TIMEOUT_MS = 15_000;

/** @throws a sentence that names DATABASE_URL if it does not lead to a usable PostgreSQL. */
export async function checkPostgres(url: string): Promise<void> {
  const database = openDatabase(url, createLogger('silent'), { max: 1, connectMs: 5_000 });
  try {
    const { rows } = await database.query<{ server_version_num: string }>('show server_version_num');
    const major = Math.floor(Number(rows[0]?.server_version_num) / 10_000);
    if (major < OLDEST_POSTGRES)
      throw new Error(`it is version ${major}, Souk needs ${OLDEST_POSTGRES} or later`);
  } catch (error) {
    throw new Error(`DATABASE_URL does not lead to a usable PostgreSQL: ${reasonOf(error)}.`);
  } finally {
    await database.end();
  }
}

/** @throws a sentence that names the setting if it does not lead to a usable Redis. */
export async function checkRedis(
  url: string,
  setting: 'REDIS_URL' | 'CACHE_REDIS_URL' = 'REDIS_URL',
): Promise<void> {
  const lastError = { reason: '' };
  const log = createLogger('silent');
  try {
    const redis = await connectRedis(url, 'serving', log, {
      onError: (error) => {
        lastError.reason ||= reasonOf(error);
      },
    });
    const info = await redis.info('server');
    redis.disconnect();
    const [major = 0, minor = 0] = /redis_version:(\d+)\.(\d+)/.exec(info)?.slice(1).map(Number) ?? [];
    if (major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])) {
      throw new Error(`it is version ${major}.${minor}, Souk needs ${OLDEST_REDIS.join('.')} or later`);
    }
  } catch (error) {
    throw new Error(`${setting} does not lead to a usable Redis: ${lastError.reason || reasonOf(error)}.`);
  }
}

/**
 * Asks the provider about each account.
 * @returns sentences about the accounts whose keys it refuses. @throws a sentence if no account can be used.
 */
export async function checkAccounts(
  baseUrl: string,
  accounts: readonly ProviderAccount[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const { name, key } of accounts) {
    try {
      await checkKeepa(baseUrl, key);
    } catch (error) {
      const { message } = error as Error;
      if (accounts.length === 1 || !message.startsWith('KEEPA_API_KEY')) throw error;
      problems.push(message.replace('KEEPA_API_KEY', `KEEPA_API_KEY: the key of the account ${name}`));
    }
  }
  if (problems.length === accounts.length) throw new Error(problems.join(' '));
  return problems;
}

/** @throws a sentence that names KEEPA_API_KEY or KEEPA_BASE_URL if the provider does not accept the key. */
export async function checkKeepa(baseUrl: string, key: string): Promise<void> {
  const http = createHttpClient({ connections: 1 });
  try {
    const url = new URL(`${baseUrl}/token`);
    url.searchParams.set('key', key);
    const signal = AbortSignal.timeout(PROVIDER_TIMEOUT_MS);
    const { status } = await http.send({ method: 'GET', url, signal, maxBytes: 100_000 });
    if (status === 400 || status === 401 || status === 402 || status === 403) {
      throw new Error(`KEEPA_API_KEY is not accepted by ${baseUrl} (HTTP ${status}).`);
    }
    if (status !== 200 && status !== 429)
      throw new Error(
        `KEEPA_BASE_URL ${baseUrl} answers with HTTP ${status}; is it a product data provider?`,
      );
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('KEEPA_')) throw error;
    throw new Error(`KEEPA_BASE_URL ${baseUrl} cannot be reached: ${reasonOf(error)}.`);
  } finally {
    await http.close();
  }
}

function reasonOf(error: unknown): string {
  const { message, code, cause } = error as NodeJS.ErrnoException & { cause?: unknown };
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  const text = message || code || String(cause ?? error);
  return maskSecrets(text).replace(/\.$/, '');
}
