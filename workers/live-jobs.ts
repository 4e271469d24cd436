import type { CompletionMessage } from '../jobs/end-call.ts';
import { ACCOUNT_LIMITS, type AccountLimits, directBytes } from '../src/batches/limits.ts';
import { NOTE_SERVER } from '../src/billing/admission.ts';
import { createSettlements } from '../src/billing/settlement.ts';
import { createProductLabels } from '../src/brand-analytics/product-labels.ts';
import type { Providers } from '../src/operations/pools.ts';
import {
  type Database,
  type DatabaseClock,
  openDatabase,
  STATEMENT_LIMITS,
} from '../src/platform/db/pool.ts';
import { SoukError } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import { STORE_ANSWER_LIMIT_MS } from '../src/platform/outage.ts';
import { closeRedis, connectRedis, type Redis } from '../src/platform/redis.ts';
import { redisKeys } from '../src/platform/redis-keys.ts';
import { createSecretBox } from '../src/platform/secret-box.ts';
import type { Stores } from '../src/platform/stores.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import type { Tracing } from '../src/platform/telemetry/tracing.ts';
import { createAnswerStore } from '../src/results/answer-store.ts';
import { type Cache, openCache } from '../src/results/cache.ts';
import { createHttpClient, tracedHttpClient } from '../src/upstream/http-client.ts';
import {
  type AccountUse,
  createKeepaTransport,
  type KeepaTransport,
} from '../src/upstream/keepa/transport.ts';
import { createProviderAccounts, type ProviderAccount } from '../src/upstream/provider-accounts.ts';
import { followAccounts } from '../src/upstream/stored-accounts.ts';
import { openTrends } from '../src/upstream/trends/trends.ts';
import { type Attempt, createExecutor, type ExecutorDeps } from './executor.ts';
import type { Upstreams } from './handlers/handler.ts';
import { openSingleFlight } from './single-flight.ts';
import { createSources } from './sources.ts';

/** Where the stores of jobs are, and the providers of their data. */
export interface JobSettings {
  databaseUrl: string;
  redisUrl: string;
  /** The setting CACHE_REDIS_URL. Default: cached data is on `redisUrl`. */
  cacheRedisUrl?: string | undefined;
  /** The setting STORE_ANSWER_LIMIT_MS. It applies to a Redis of cached data, and to all stores when the worker stops; otherwise jobs wait for the stores. */
  answerLimitMs?: number | undefined;
  redisNamespace: string;
  keepaBaseUrl: string;
  /** The accounts of the setting KEEPA_API_KEY. */
  keepaAccounts: readonly ProviderAccount[];
  /** The setting SECRET_KEY. */
  secretKeys?: readonly string[] | undefined;
  trendsBaseUrl: string;
  providers: Providers;
  /** Default: `ACCOUNT_LIMITS`. */
  accountLimits?: AccountLimits | undefined;
}

/** Returns only what jobs need of some settings. Others could not be sent to a thread. */
export function jobSettings({
  databaseUrl,
  redisUrl,
  cacheRedisUrl,
  answerLimitMs,
  redisNamespace,
  keepaBaseUrl,
  keepaAccounts,
  secretKeys,
  trendsBaseUrl,
  providers,
  accountLimits,
}: JobSettings): JobSettings {
  const stores = { databaseUrl, redisUrl, cacheRedisUrl, answerLimitMs, redisNamespace };
  const sources = { keepaBaseUrl, keepaAccounts, secretKeys, trendsBaseUrl, providers };
  return { ...stores, ...sources, accountLimits } satisfies Record<keyof JobSettings, unknown>;
}

/** The connections of a thread that runs jobs. */
interface JobStores extends Pick<Stores, 'database' | 'redis' | 'keys'> {
  money: Database;
  subscriber: Redis;
  cache: Cache;
  /** Listens on the Redis of the cache. */
  flightsSubscriber: Redis;
  close(): Promise<void>;
}

/** Receive the errors of stores. */
export interface StoreErrors {
  postgresql(error: unknown): void;
  cache(error: unknown): void;
}

/** Connects to the stores. @throws if one cannot be reached. */
export async function openJobStores(
  {
    databaseUrl,
    redisUrl,
    cacheRedisUrl,
    answerLimitMs = STORE_ANSWER_LIMIT_MS,
    redisNamespace,
  }: JobSettings,
  connections: { requests: number; money: number },
  onError: StoreErrors,
  log: Logger,
): Promise<JobStores> {
  const open = (purpose: keyof typeof connections) =>
    openDatabase(databaseUrl, log, {
      max: connections[purpose],
      limits: STATEMENT_LIMITS[purpose],
      ...(purpose === 'money' && { prepare: NOTE_SERVER }),
      onError: onError.postgresql,
    });
  const [database, money] = [open('requests'), open('money')];
  const redis = await connectRedis(redisUrl, 'working', log);
  const subscriber = await connectRedis(redisUrl, 'listening', log);
  const cache = await openCache(cacheRedisUrl, redis, log, { answerLimitMs, onError: onError.cache });
  const flightsSubscriber = cacheRedisUrl
    ? await connectRedis(cacheRedisUrl, 'listening', log, { isOptional: true })
    : subscriber;
  return {
    keys: redisKeys(redisNamespace),
    database,
    money,
    redis,
    subscriber,
    cache,
    flightsSubscriber,
    async close() {
      await closeRedis(redis, subscriber, ...(cache.isOwn ? [cache.redis, flightsSubscriber] : []));
      await Promise.all([database.end(), money.end()]);
    },
  };
}

export type LiveJobs = Awaited<ReturnType<typeof openLiveJobs>>;

/** How long the ending of a job waits for an account that another transaction has locked. */
const LOCK_PATIENCE_MS = 10_000;

/** Opens what runs the jobs of live calls. */
export async function openLiveJobs(
  settings: JobSettings,
  stores: JobStores & { reports: Database },
  deps: Pick<ExecutorDeps, 'pausingShare'> & {
    /** Whether this is the second thread of a worker: the first one names the provider's accounts and asks for their tokens. */
    isSecond?: boolean;
    events: CallEvents;
    tracing: Tracing | null;
    clock: DatabaseClock;
    log: Logger;
  },
) {
  const { keys, database, money, reports, redis, cache, flightsSubscriber } = stores;
  const { isSecond = false, ...observers } = deps;
  const { events, tracing, clock, log } = observers;
  const { keepaBaseUrl, trendsBaseUrl, providers, accountLimits = ACCOUNT_LIMITS } = settings;
  const settlements = createSettlements(money, clock.now, LOCK_PATIENCE_MS);
  const answers = createAnswerStore(redis, keys, cache, (accountId) => directBytes(accountId, accountLimits));
  const flights = await openSingleFlight({ cache, subscriber: flightsSubscriber, keys, clock, log });
  const sources = createSources(flights, clock, events);
  const http = tracing ? tracedHttpClient(createHttpClient(), tracing) : createHttpClient();
  const { products: provider } = providers;
  const followed = await followAccounts({
    database,
    provider,
    own: settings.keepaAccounts,
    secretBox: createSecretBox(settings.secretKeys),
    isNaming: !isSecond,
    onAdded: (account) => void (isSecond || keepa.learn(account)),
    clock,
    log,
  });
  const { accounts: present } = followed;
  const onDue = (account: ProviderAccount) => void keepa.learn(account);
  const accounts = createProviderAccounts({ redis, keys, provider, clock, accounts: present, onDue });
  const onUse = (use: AccountUse) => events.emit({ type: 'provider.used', ...use });
  const productLabels = createProductLabels(database, provider, clock, log);
  const keepa: KeepaTransport = productLabels.learningFrom(
    createKeepaTransport({ baseUrl: keepaBaseUrl, http, accounts, clock, log, onUse }),
  );
  const upstream: Upstreams = {
    keepa,
    trends: openTrends({ baseUrl: trendsBaseUrl, provider: providers.trends, http, redis, keys, clock }),
    reports: { database: reports, provider: providers.reports, products: provider },
    files: database,
  };
  const executing = { ...observers, redis, keys, sources, answers, settlements };
  const live = { ...executing, upstream, providers, mode: 'live' } as const;
  return {
    executor: createExecutor(live),
    executing,
    settlements,
    /** Asks the provider for the tokens of each account. A failure is only logged. */
    learnTokens: async (): Promise<void> => {
      await Promise.all(present.present.map((account) => keepa.learn(account)));
    },
    /** Releases the call of a job that cannot be run, with an internal error. */
    fail(attempt: Attempt, cause: Error): Promise<CompletionMessage> {
      const obtain = () => Promise.reject(new SoukError('INTERNAL', { cause }));
      return createExecutor({ ...live, sources: { obtain } }).execute(attempt);
    },
    async close(): Promise<void> {
      await followed.close();
      await productLabels.close();
      await flights.close();
      await http.close();
    },
  };
}
