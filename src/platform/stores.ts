import type { Clock } from './clock.ts';
import type { Database } from './db/pool.ts';
import type { Logger } from './log.ts';
import type { Redis } from './redis.ts';
import type { RedisKeys } from './redis-keys.ts';

/** What most parts of a process work with. */
export interface Stores {
  database: Database;
  redis: Redis;
  keys: RedisKeys;
  clock: Clock;
  log: Logger;
}
