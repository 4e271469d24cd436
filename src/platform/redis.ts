import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, type ClusterNode, type ClusterOptions, Redis as SingleRedis } from 'ioredis';
import type { Logger } from './log.ts';
import { reportingErrors, STORE_ANSWER_LIMIT_MS } from './outage.ts';
import { parseRedisAddress, type RedisAddress } from './redis-address.ts';

/** A connection to one server, or to all nodes of a Redis Cluster. */
export type Redis = SingleRedis | Cluster;

/** The purpose of a connection. It determines the behaviour while Redis is down. */
export type RedisPurpose =
  /** For requests: commands fail immediately, so that the request can be refused. */
  | 'serving'
  /** For the queues of a gateway: commands fail immediately, as for requests. */
  | 'submitting'
  /** For background work: commands wait until Redis returns. */
  | 'working'
  /** For the queues of a worker: commands wait until Redis returns, as for background work. */
  | 'pulling'
  /** For subscriptions, which are renewed after an outage. */
  | 'listening';

const FAILING_AT_ONCE: ReadonlySet<RedisPurpose> = new Set(['serving', 'submitting']);

interface RedisOptions {
  /** Receives the errors of the connection. */
  onError?: (error: Error) => void;
  /** Receives the errors of all commands. */
  onCommandError?: (error: unknown) => void;
  /**
   * On connections for requests, a command without an answer fails after this time, and a connection without an answer is
   * replaced: until Redis answers again, further commands fail immediately. On all connections, a sentinel that does not answer within
   * this time is passed over.
   */
  answerLimitMs?: number;
  /** The process can work without this Redis, so it also starts without it, and connects when it is there. */
  isOptional?: boolean;
}

const CONNECT_LIMIT_MS = 5_000;

/** How long Redis has to confirm that a connection is closed. */
const CLOSE_LIMIT_MS = 500;

/** A connection for background work leaves a server after this time without an answer. BullMQ waits up to 10 seconds for a job. */
const HANG_LIMIT_MS = 15_000;

/** The system asks whether the other side is still there after this time without data. */
const KEEP_ALIVE_MS = 10_000;

/** Connects to Redis, logs connection errors and reconnects. Rejects when a Redis that is not optional is unreachable at the start. */
export async function connectRedis(
  address: string,
  purpose: RedisPurpose,
  log: Logger,
  {
    onError = () => {},
    onCommandError,
    answerLimitMs = STORE_ANSWER_LIMIT_MS,
    isOptional = false,
  }: RedisOptions = {},
): Promise<Redis> {
  const redis = clientOf(parseRedisAddress(address), purpose, answerLimitMs);
  redis.on('error', (error) => {
    log.warn({ err: error, purpose }, 'Redis connection error');
    onError(error);
  });
  // ioredis has no event for the error of a command, and commands are sent in too many places, some of them BullMQ's.
  if (onCommandError) redis.sendCommand = reportingErrors(redis.sendCommand.bind(redis), onCommandError);
  const connecting = redis.connect();
  if (isOptional)
    await Promise.race([connecting.catch(() => {}), pause(CONNECT_LIMIT_MS, null, { ref: false })]);
  else
    await connecting.catch((error: unknown) => {
      redis.disconnect();
      throw error;
    });
  // A first connection may take longer than a command.
  if (FAILING_AT_ONCE.has(purpose) && !(redis instanceof Cluster))
    redis.options.commandTimeout = answerLimitMs;
  return redis;
}

const SLOTS_REFRESH_MS = 5_000;

/** Not connected yet. */
function clientOf(address: RedisAddress, purpose: RedisPurpose, answerLimitMs: number): Redis {
  const failsAtOnce = FAILING_AT_ONCE.has(purpose);
  const { form, nodes, db, masterName, username, password, tls } = address;
  const connection = {
    connectionName: `souk-${purpose}`,
    connectTimeout: CONNECT_LIMIT_MS,
    disconnectTimeout: CLOSE_LIMIT_MS,
    keepAlive: KEEP_ALIVE_MS,
    ...(username && { username }),
    ...(password && { password }),
    ...(tls && { tls }),
    ...(failsAtOnce
      ? { maxRetriesPerRequest: 1, socketTimeout: answerLimitMs }
      : { maxRetriesPerRequest: null }),
  };
  const client = { lazyConnect: true, ...(failsAtOnce && { enableOfflineQueue: false }) };
  if (form === 'cluster')
    return new SettlingCluster([...nodes], {
      ...client,
      clusterRetryStrategy: retryDelayMs,
      ...(purpose === 'listening' && {
        // Connects to the node of a sharded channel when it is subscribed to.
        shardedSubscribers: true,
        // In case the client has missed that a slot has moved, and with it a channel.
        slotsRefreshInterval: SLOTS_REFRESH_MS,
      }),
      // Until a replica takes over, the other masters redirect commands to the dead one. Each try has a pause.
      ...(!failsAtOnce && { maxRedirections: Number.POSITIVE_INFINITY }),
      // Certificates name hosts, not addresses.
      ...(tls && { dnsLookup: (host, done) => done(null, host) }),
      redisOptions: { ...connection, ...(failsAtOnce && { commandTimeout: answerLimitMs }) },
    });
  return new SingleRedis({
    ...client,
    ...connection,
    db,
    retryStrategy: retryDelayMs,
    ...(form === 'sentinel'
      ? {
          sentinels: [...nodes],
          ...(masterName && { name: masterName }),
          ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
          sentinelRetryStrategy: retryDelayMs,
          // The next sentinel is asked if one does not answer.
          sentinelCommandTimeout: answerLimitMs,
          // An old master may hang. ioredis can listen for announcements of the sentinels instead, but an announcement
          // that arrives during a reconnection ends the connection for good.
          socketTimeout: failsAtOnce ? answerLimitMs : HANG_LIMIT_MS,
        }
      : nodes[0]),
    // After a fail-over the old server is a replica: the command is sent again, to the new master.
    reconnectOnError: (error) => (error.message.startsWith('READONLY') ? 2 : false),
  });
}

function retryDelayMs(attempt: number): number {
  return Math.min(attempt * 100, 2_000);
}

/**
 * Returns whether Redis has sharded channels, whose messages stay on one node: a cluster of version 7 or later. It sends those of
 * other channels to all nodes.
 */
export async function hasShardedChannels(redis: Redis): Promise<boolean> {
  if (!(redis instanceof Cluster)) return false;
  // From any node: one that is down must not delay the start of a process.
  const info = await redis.info('server');
  return Number(/^redis_version:(\d+)/m.exec(info)?.[1]) >= 7;
}

/** The servers that hold keys: one, or the masters of a cluster. */
export function mastersOf(redis: Redis): SingleRedis[] {
  return redis instanceof Cluster ? redis.nodes('master') : [redis];
}

/** Returns whether Redis takes writes: false if it gives no answer in time. */
export async function takesWrites(redis: Redis, limitMs: number): Promise<boolean> {
  const asked =
    redis instanceof Cluster
      ? redis.cluster('INFO').then((info) => /^cluster_state:ok/m.test(String(info)))
      : redis.info('replication').then((info) => /^role:master/m.test(info));
  return Promise.race([asked.catch(() => false), pause(limitMs, false, { ref: false })]);
}

/** Closes connections, after the answers to the commands under way if Redis answers in time. */
export async function closeRedis(...connections: readonly Redis[]): Promise<void> {
  await Promise.all(
    connections.map(async (redis) => {
      if (redis.status === 'ready')
        await Promise.race([
          redis.quit().catch(() => {}),
          pause(STORE_ANSWER_LIMIT_MS, null, { ref: false }),
        ]);
      if (redis.status !== 'end') redis.disconnect();
    }),
  );
}

declare const plain: Cluster;
type Overrides = Parameters<typeof plain.duplicate>[1];

/**
 * A cluster that connects when `connect` is called, and whose `connect` settles. The `connect` of ioredis never settles
 * if its first attempt fails and a later one succeeds, as in a fail-over. A process would not start, and BullMQ, which
 * waits for it on a duplicate connection, would take no jobs. See https://github.com/redis/ioredis/pull/741, which was not merged.
 */
export class SettlingCluster extends Cluster {
  readonly #nodes: ClusterNode[];
  #ready: Promise<void> | null = null;

  constructor(nodes: ClusterNode[], { redisOptions = {}, ...options }: ClusterOptions) {
    super(nodes, {
      ...options,
      lazyConnect: true,
      redisOptions: { ...redisOptions, replyMapping: 'legacy' },
    });
    this.#nodes = nodes;
  }

  override async connect(): Promise<void> {
    // ioredis calls this for each attempt, so an attempt must not leave a listener behind.
    this.#ready ??= new Promise((resolve) =>
      this.once('ready', () => {
        this.#ready = null;
        resolve();
      }),
    );
    await Promise.race([super.connect(), this.#ready]);
  }

  override duplicate<Own extends Overrides = undefined>(nodes: ClusterNode[] = [], options?: Own) {
    const { redisOptions } = this.options;
    const duplicate: unknown = new SettlingCluster(nodes.length > 0 ? nodes : this.#nodes, {
      ...this.options,
      ...options,
      redisOptions: { ...redisOptions, ...options?.redisOptions },
    });
    return duplicate as ReturnType<typeof plain.duplicate<Own>>;
  }
}
