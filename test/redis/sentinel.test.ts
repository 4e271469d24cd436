import { Redis } from 'ioredis';
import { expect, inject, test } from 'vitest';
import { createLogger } from '../../src/platform/log.ts';
import { closeRedis, connectRedis, type RedisPurpose } from '../../src/platform/redis.ts';
import { startSentinel } from '../support/redis-sentinel.ts';
import { openScriptedSentinel } from '../support/scripted-sentinel.ts';

const log = createLogger('silent');

test.for<RedisPurpose>(['serving', 'submitting', 'working', 'pulling', 'listening'])(
  'a connection for %s that its server has closed is made again when a sentinel answers',
  async (purpose, { onTestFinished }) => {
    const sentinel = await openScriptedSentinel(inject('redisUrl'));
    onTestFinished(() => sentinel.close());
    const redis = await connectRedis(sentinel.url, purpose, log);
    onTestFinished(() => closeRedis(redis));
    const other = new Redis(inject('redisUrl'));
    onTestFinished(() => other.disconnect());
    const id = await redis.client('ID');
    const release = sentinel.hold();
    await other.client('KILL', 'ID', id);
    await sentinel.asked();
    release();
    await expect.poll(() => redis.status).toBe('ready');
    expect(await redis.ping()).toBe('PONG');
  },
);

test('the next sentinel is asked if one accepts connections, never answering', async ({ onTestFinished }) => {
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

test('a connection for background work sends its commands to the new master if the old one hangs', {
  timeout: 120_000,
}, async ({ onTestFinished }) => {
  const { url, master, close } = await startSentinel();
  onTestFinished(async () => {
    process.kill(master.pid, 'SIGCONT');
    await close();
  });
  const redis = await connectRedis(url, 'working', log);
  onTestFinished(() => closeRedis(redis));
  process.kill(master.pid, 'SIGSTOP');
  expect(await redis.set('a key', 'a value')).toBe('OK');
});
