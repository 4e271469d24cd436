import { Redis } from 'ioredis';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { isStoreDown } from '../../src/platform/outage.ts';

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => new Error('nothing went wrong'),
    (error: unknown) => error,
  );

test('a refused connection means that the database is down', async () => {
  const client = new pg.Client({ host: '127.0.0.1', port: await freePort(), user: 'souk' });
  expect(isStoreDown(await errorOf(client.connect()))).toBe(true);
});

test('a connection that ends during a query means that the database is down', async () => {
  const connectionString = inject('templateDatabaseUrl').replace(/\/[^/]*$/, '/postgres');
  const [client, other] = [1, 2].map(() => new pg.Client({ connectionString })) as [pg.Client, pg.Client];
  client.on('error', () => {});
  await client.connect();
  await other.connect();
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const broken = errorOf(client.query('select pg_sleep(60)'));
  await other.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  expect(isStoreDown(await broken)).toBe(true);
  await other.end();
});

test('a closed connection means that Redis is down', async () => {
  const redis = new Redis({
    port: await freePort(),
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
  });
  redis.on('error', () => {});
  expect(isStoreDown(await errorOf(redis.connect()))).toBe(true);
  expect(isStoreDown(await errorOf(redis.get('x')))).toBe(true);
  redis.disconnect();
});

test.each([new TypeError('x is not a function'), new Error('nothing'), 'connection', null])(
  '%s does not mean that a store is down',
  (error) => {
    expect(isStoreDown(error)).toBe(false);
  },
);
