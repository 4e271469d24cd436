import { Redis } from 'ioredis';
import { expect, inject, test } from 'vitest';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis, type RedisPurpose } from '../../src/platform/redis.ts';
import { openScriptedSentinel } from '../support/scripted-sentinel.ts';

const log = createLogger('silent');

test.for<RedisPurpose>(['serving', 'submitting', 'working', 'pulling', 'listening'])(
  'a connection for %s is made again if another master is announced while the sentinels are asked for it',
  async (purpose, { onTestFinished }) => {
    const sentinel = await openScriptedSentinel(inject('redisUrl'));
    onTestFinished(() => sentinel.close());
    const redis = await connectRedis(sentinel.url, purpose, log);
    onTestFinished(() => closeRedis(redis));
    const other = new Redis(inject('redisUrl'));
    onTestFinished(() => other.disconnect());
    const id = await redis.client('ID');
    await sentinel.heard();
    const release = sentinel.hold();
    await other.client('KILL', 'ID', id);
    await sentinel.asked();
    await sentinel.announce();
    release();
    await expect.poll(() => redis.status).toBe('ready');
    expect(await redis.ping()).toBe('PONG');
  },
);

test('the next sentinel is asked if one accepts connections and does not answer', async ({
  onTestFinished,
}) => {
  const [silent, other] = [
    await openScriptedSentinel(inject('redisUrl')),
    await openScriptedSentinel(inject('redisUrl')),
  ];
  onTestFinished(() => Promise.all([silent.close(), other.close()]).then(() => {}));
  silent.hold();
  const url = silent.url.replace('/main', `,${new URL(other.url).host}/main`);
  const redis = await connectRedis(url, 'working', log, { answerLimitMs: 100 });
  onTestFinished(() => closeRedis(redis));
  expect(await redis.ping()).toBe('PONG');
});
