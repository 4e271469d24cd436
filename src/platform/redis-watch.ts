import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import type { Redis } from './redis.ts';
import { endRedis } from './redis-ending.ts';
import { endOfTurn } from './turn.ts';

const ASK_EVERY_MS = 500;

/**
 * Ends the connections of a process that stops if Redis is away or goes away, so that nothing waits for Redis any more.
 * @param connections to the same Redis. The first one, which is not for subscriptions, is used to ask it.
 * @param answerLimitMs Redis is away if it has not answered for this long.
 * @param onAway is called before the connections end.
 * @returns a function that ends the watch.
 */
export function endWhenAway(
  connections: readonly [Redis, ...Redis[]],
  answerLimitMs: number,
  onAway: () => void,
): () => void {
  let isOver = false;
  async function watch(): Promise<void> {
    while (!isOver && (await answers(connections[0], answerLimitMs)))
      await pause(ASK_EVERY_MS, null, { ref: false });
    if (isOver) return;
    onAway();
    endRedis(...connections);
  }
  void watch();
  return () => {
    isOver = true;
  };
}

async function answers(redis: Redis, limitMs: number): Promise<boolean> {
  const answered = ask(redis).catch(() => false);
  // The question is written at the end of this turn, and an answer may have arrived while this process was busy.
  const isLate = endOfTurn()
    .then(() => pause(limitMs, null, { ref: false }))
    .then(endOfTurn);
  return Promise.race([answered, isLate.then(() => false)]);
}

/** Returns whether all keys can be reached and written. */
async function ask(redis: Redis): Promise<boolean> {
  if (redis instanceof Cluster) return /^cluster_state:ok/m.test(String(await redis.cluster('INFO')));
  // A server that has become a replica answers, and refuses what the process writes.
  return /^role:master/m.test(await redis.info('replication'));
}
