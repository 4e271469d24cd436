import type { Redis } from 'ioredis';
import { type Clock, every } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import { readTokens } from '../upstream/token-bucket.ts';

const EVERY_MS = 60_000;

/** How long what the operator's pages are made of is kept, in days. */
const KEPT_DAYS = { failures: 30, token_readings: 7, operation_hours: 400, aba_imports: 400 } as const;

/** However many there are within that time. */
const MOST_FAILURES = 100_000;

const DAY_MS = 86_400_000;

export interface KeepingDeps {
  database: Database;
  redis: Redis;
  keys: RedisKeys;
  clock: Clock;
  log: Logger;
}

/** Every minute: notes how many tokens there are, and lets go what is old. Any number of processes may. */
export function startKeeping(deps: KeepingDeps): () => Promise<void> {
  return every(deps.clock, EVERY_MS, () =>
    keep(deps).catch((error: unknown) => deps.log.warn({ err: error }, 'keeping the desk failed')),
  );
}

export async function keep({ database, redis, keys, clock }: KeepingDeps): Promise<void> {
  const now = clock.now();
  const tokens = await readTokens(redis, keys.tokens('keepa'), now);
  if (tokens)
    await database.query(
      `insert into token_readings (minute, tokens_left, tokens_per_minute)
       values (date_trunc('minute', $1::timestamptz, 'UTC'), $2, $3) on conflict (minute) do nothing`,
      [new Date(now), tokens.left, tokens.perMinute],
    );
  const before = (days: number) => [new Date(now - days * DAY_MS)];
  await database.query('delete from token_readings where minute < $1', before(KEPT_DAYS.token_readings));
  await database.query('delete from operation_hours where hour < $1', before(KEPT_DAYS.operation_hours));
  await database.query('delete from aba_imports where started_at < $1', before(KEPT_DAYS.aba_imports));
  // Ids follow time, and only the oldest are looked at.
  await database.query(
    `delete from failures where id in (select id from failures where at < $1 order by id limit 10000)
       or id <= (select max(id) from failures) - $2::bigint`,
    [...before(KEPT_DAYS.failures), MOST_FAILURES],
  );
}
