import { resolve } from 'node:path';
import autocannon from 'autocannon';
import { Redis } from 'ioredis';
import { fillHistory } from '../fill-history.ts';
import { cpuTimeMs, parentOf } from '../process-times.ts';
import type { Row } from '../row.ts';
import { openServices, type Services } from '../services.ts';

const ACCOUNTS = 1000;
const ROUNDS = 5;
const ROUND_SECONDS = 6;
const CONNECTIONS = { cached: 100, uncached: 50 } as const;

type Kind = keyof typeof CONNECTIONS;

/** A whole service with a database of its own. */
interface Side {
  services: Services;
  gatewayUrl: string;
  keys: string[];
  /** Process ids of the gateway, the worker, Redis and PostgreSQL. */
  pids: number[];
}

/** One round of calls, by call. */
interface Figures {
  perSecond: number;
  cpuMs: number;
  postgresMs: number;
  walBytes: number;
  /** Blocks that PostgreSQL has read or found in its memory. */
  blocks: number;
  failures: number;
}

/** The figure is that of the long history. */
const FIGURE_CALLS = 10_000_000;

export const historyRows = (services: Services) => compareWithHistory(services, 1_000_000);
export const longHistoryRows = (services: Services) => compareWithHistory(services, FIGURE_CALLS);

/**
 * Compares calls of a service that has finished many calls with those of a service that has finished none, in alternating rounds.
 * BENCH_HISTORY=DIR keeps the filled database in that folder, for later runs. Each run adds its own calls to it.
 */
async function compareWithHistory(emptyServices: Services, calls: number): Promise<Row[]> {
  const { BENCH_HISTORY: kept } = process.env;
  const filledServices = await openServices({
    postgresFolder: kept ? resolve(kept, String(calls)) : undefined,
  });
  try {
    const empty = await openSide(emptyServices, await emptyServices.keys(ACCOUNTS));
    // An earlier run on the same database has left subscriptions, keys and claims.
    await filledServices.database.query('truncate subscriptions, api_keys, open_calls, call_claims cascade');
    const keys = await filledServices.keys(ACCOUNTS);
    await fillHistory(filledServices.database, calls);
    const filled = await openSide(filledServices, keys);
    const rows: Row[] = [];
    for (const kind of ['cached', 'uncached'] as const)
      rows.push(...(await compare(kind, calls, filled, empty)));
    return rows;
  } finally {
    await filledServices.close();
  }
}

async function openSide(services: Services, keys: string[]): Promise<Side> {
  const upstream = await services.start('bench/instant-upstream.ts');
  const { url, gateway, worker } = await services.startSouk(upstream.ready);
  const redis = new Redis(services.redisUrl);
  const redisPid = Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1]);
  redis.disconnect();
  const { rows } = await services.database.query<{ pid: number }>('select pg_backend_pid() as pid');
  const postgresPid = await parentOf(rows[0]?.pid ?? 0);
  return {
    services,
    keys,
    gatewayUrl: url,
    pids: [gateway.pid ?? 0, worker.pid ?? 0, redisPid, postgresPid],
  };
}

async function compare(kind: Kind, calls: number, filled: Side, empty: Side): Promise<Row[]> {
  const rounds: { ours: Figures; baseline: Figures }[] = [];
  // The first round warms both sides up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    await empty.services.database.query('truncate finished_calls, ledger, usage_days');
    rounds.push({ baseline: await measure(kind, empty), ours: await measure(kind, filled) });
  }
  rounds.shift();
  const [ours, baseline] = [medians(rounds.map((r) => r.ours)), medians(rounds.map((r) => r.baseline))];
  const what = `${kind} call with ${calls.toLocaleString('en')} finished calls / with none`;
  const failures = ours.failures + baseline.failures;
  const texts = { ours: textOf(ours), baseline: textOf(baseline), aim: 'at least 0.9', failures };
  const ratioOf = (ratio: (round: (typeof rounds)[number]) => number) => median(rounds.map(ratio));
  return [
    { ...texts, what: `${what}, throughput`, ratio: ratioOf((r) => r.ours.perSecond / r.baseline.perSecond) },
    {
      ...texts,
      ...(calls >= FIGURE_CALLS && { figure: 'history' as const }),
      what: `${what}, calls by CPU time`,
      ratio: ratioOf((r) => r.baseline.cpuMs / r.ours.cpuMs),
    },
    {
      ...texts,
      what: `${what}, calls by CPU time of PostgreSQL`,
      ratio: ratioOf((r) => r.baseline.postgresMs / r.ours.postgresMs),
    },
  ];
}

const PATH = '/api/market/product?domain=1&detailLevel=summary';

/** Makes each call unlike all earlier ones. */
let turn = 1_000_000;

async function measure(kind: Kind, { services, gatewayUrl, keys, pids }: Side): Promise<Figures> {
  const cached = `${gatewayUrl}${PATH}&asins=B00BENCH01`;
  await (await fetch(cached, { headers: { 'x-api-key': keys[0] ?? '' } })).arrayBuffer();
  const before = await counters(services);
  const cpuBefore = await cpuTimeMs(pids);
  const result = await autocannon({
    url: gatewayUrl,
    connections: CONNECTIONS[kind],
    duration: ROUND_SECONDS,
    timeout: 60,
    requests: [
      {
        setupRequest: (request: object) => {
          turn += 1;
          // A call with another freshness threshold (in hours) is another call, and uses the same cached answer.
          const asin = kind === 'cached' ? `B00BENCH01&update=${turn}` : `B${String(turn).padStart(9, '0')}`;
          return {
            ...request,
            path: `${PATH}&asins=${asin}`,
            headers: { 'x-api-key': keys[turn % keys.length] },
          };
        },
      },
    ],
  });
  const cpuAfter = await cpuTimeMs(pids);
  const after = await counters(services);
  const calls = result['2xx'];
  const cpuMs = cpuAfter.map((ms, i) => (ms - (cpuBefore[i] ?? 0)) / calls);
  return {
    perSecond: calls / result.duration,
    cpuMs: cpuMs.reduce((sum, ms) => sum + ms, 0),
    postgresMs: cpuMs[3] ?? 0,
    walBytes: (after.walBytes - before.walBytes) / calls,
    blocks: (after.blocks - before.blocks) / calls,
    failures: result.non2xx + result.errors + result.timeouts,
  };
}

interface Counters {
  walBytes: number;
  blocks: number;
}

async function counters({ database }: Services): Promise<Counters> {
  const { rows } = await database.query<Counters>(
    `select (pg_current_wal_insert_lsn() - '0/0')::bigint as "walBytes",
       (select blks_hit + blks_read from pg_stat_database where datname = current_database()) as blocks`,
  );
  return rows[0] as Counters;
}

function textOf({ perSecond, cpuMs, postgresMs, walBytes, blocks }: Figures): string {
  return `${perSecond.toFixed(0)}/s, CPU ${cpuMs.toFixed(2)} ms (PostgreSQL ${postgresMs.toFixed(2)}), ${(walBytes / 1000).toFixed(1)} KB WAL, ${blocks.toFixed(0)} blocks`;
}

/** The median of each figure; failures are added. */
function medians(rounds: readonly Figures[]): Figures {
  const of = (name: keyof Figures) => median(rounds.map((round) => round[name]));
  return {
    perSecond: of('perSecond'),
    cpuMs: of('cpuMs'),
    postgresMs: of('postgresMs'),
    walBytes: of('walBytes'),
    blocks: of('blocks'),
    failures: rounds.reduce((sum, { failures }) => sum + failures, 0),
  };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
