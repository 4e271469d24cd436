import { sum } from 'd3-array';
import type { Redis as Server } from 'ioredis';
import type { Queryable } from '../platform/db/pool.ts';
import { mastersOf, type Redis } from '../platform/redis.ts';

/** What Redis holds of one kind, estimated from a sample of its keys. */
interface RedisKind {
  kind: string;
  keys: number;
  bytes: number;
}

export interface RedisContents {
  usedBytes: number;
  /** 0: no limit. */
  limitBytes: number;
  kinds: RedisKind[];
}

/** Keys are in no order, so the first ones of a scan are a fair sample. */
const SAMPLE = 1_000;

/** The second part of a key says what it is; see `redisKeys`. Queues have a prefix of their own. */
const KINDS: Readonly<Record<string, string>> = {
  answer: 'Answers',
  source: 'Upstream data and flights',
  stored: 'Bytes stored by account',
  upload: 'Uploads and their replies',
  joined: 'Joined jobs',
  waiting: 'Processes that wait for jobs',
  tokens: 'Token bucket',
  pacing: 'Pacing of upstream requests',
  cookie: 'Cookies of providers',
  workers: 'Live workers',
  attempts: 'Attempts to sign in',
  free: 'Free requests by account',
};

/** Returns the memory of Redis, and what its keys of this installation take by kind, the largest first. */
export async function redisContents(redis: Redis, namespace: string): Promise<RedisContents> {
  const [memory, ...servers] = await Promise.all([
    memoryOf(redis),
    ...mastersOf(redis).map((server) => kindsOf(server, namespace)),
  ]);
  const kinds = new Map<string, RedisKind>();
  for (const { kind, keys, bytes } of servers.flat()) {
    const known = kinds.get(kind) ?? { kind, keys: 0, bytes: 0 };
    kinds.set(kind, { kind, keys: known.keys + keys, bytes: known.bytes + bytes });
  }
  return {
    ...memory,
    kinds: [...kinds.values()]
      .map(({ kind, keys, bytes }) => ({ kind, keys: Math.round(keys), bytes: Math.round(bytes) }))
      .sort((a, b) => b.bytes - a.bytes),
  };
}

/** Returns the memory of all servers together. */
export async function memoryOf(redis: Redis): Promise<Pick<RedisContents, 'usedBytes' | 'limitBytes'>> {
  const infos = await Promise.all(mastersOf(redis).map((server) => server.info('memory')));
  const figures = (name: string) =>
    infos.map((info) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0));
  const limits = figures('maxmemory');
  // Without a limit on each server there is none.
  return { usedBytes: sum(figures('used_memory')), limitBytes: limits.every(Boolean) ? sum(limits) : 0 };
}

async function kindsOf(server: Server, namespace: string): Promise<RedisKind[]> {
  const total = await server.dbsize();
  const sample = await sampleKeys(server);
  const sizes = await sizesOf(server, sample);
  const scale = sample.length === 0 ? 0 : total / sample.length;
  return sample.flatMap((key, i) => {
    const kind = kindOf(key, namespace);
    return kind === null ? [] : [{ kind, keys: scale, bytes: (sizes[i] ?? 0) * scale }];
  });
}

async function sampleKeys(server: Server): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await server.scan(cursor, 'COUNT', SAMPLE);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== '0' && found.size < SAMPLE);
  return [...found];
}

async function sizesOf(server: Server, keys: readonly string[]): Promise<number[]> {
  const pipeline = server.pipeline();
  for (const key of keys) pipeline.memory('USAGE', key, 'SAMPLES', 5);
  const results = (await pipeline.exec()) ?? [];
  return results.map(([, bytes]) => Number(bytes ?? 0));
}

/** Null for keys of others, which may share the Redis. */
function kindOf(key: string, namespace: string): string | null {
  if (key.startsWith(`{${namespace}-`)) return 'Queues';
  if (!key.startsWith(`${namespace}:`)) return null;
  return KINDS[key.split(':')[1] ?? ''] ?? 'Other';
}

/** A table with its partitions and indexes. */
interface TableSize {
  name: string;
  partitions: number;
  /** An estimate of PostgreSQL. */
  rows: number;
  bytes: number;
}

/** Returns the tables, the largest first. Those of other schemas count together, by the name of their schema. */
export async function tableSizes(database: Queryable): Promise<TableSize[]> {
  const { rows } = await database.query<TableSize>(
    `select case c.relnamespace when 'public'::regnamespace then c.relname else n.nspname end as name, count(*) filter (where t.isleaf and t.relid <> c.oid)::integer as partitions,
       coalesce(sum(greatest(l.reltuples, 0)) filter (where t.isleaf), 0)::bigint as rows,
       coalesce(sum(pg_total_relation_size(t.relid)), 0)::bigint as bytes
     from pg_class c
     cross join lateral (
       select relid, isleaf from pg_partition_tree(c.oid)
       union select c.oid, true where c.relkind = 'r'
     ) as t
     join pg_class l on l.oid = t.relid
     join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'test_reports') and c.relkind in ('r', 'p') and not c.relispartition
     group by 1 order by bytes desc, name`,
  );
  return rows;
}

/** What maintenance has created, folded or deleted. */
interface RetentionNote {
  at: Date;
  note: string;
}

/** Returns the latest notes of maintenance, the newest first. */
export async function retentionNotes(database: Queryable, limit: number): Promise<RetentionNote[]> {
  const { rows } = await database.query<RetentionNote>(
    'select at, note from retention_notes order by id desc limit $1',
    [limit],
  );
  return rows;
}
