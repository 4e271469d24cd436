import { execFile } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { createTestDatabase } from './support/database.ts';
import { test } from './support/souk-test.ts';

const run = promisify(execFile);

/** Returns every connection that this process opens from now on. */
const sockets: Socket[] = [];
const remember = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);

let redis: Redis;
let postgres: pg.Client;
beforeAll(async () => {
  redis = new Redis(inject('redisUrl'));
  const admin = new URL(inject('templateDatabaseUrl'));
  admin.pathname = '/postgres';
  postgres = new pg.Client({ connectionString: admin.href });
  await postgres.connect();
  await redis.ping();
  // Opens the connection that creates the databases of this process, which stays.
  await (await createTestDatabase()).drop();
  diagnostics.subscribe('net.client.socket', remember);
});
afterAll(async () => {
  diagnostics.unsubscribe('net.client.socket', remember);
  redis.disconnect();
  await postgres.end();
});

/** Names of the Redis connections that come from one of these local ports. */
async function redisConnections(ports: ReadonlySet<number>): Promise<string[]> {
  const list = String(await redis.client('LIST'));
  return list.split('\n').flatMap((line) => {
    const [, port = '', name = ''] = /addr=127\.0\.0\.1:(\d+) .*\bname=(\S*)/.exec(line) ?? [];
    return ports.has(Number(port)) ? [name] : [];
  });
}

async function sessionsIn(databaseName: string): Promise<number> {
  const { rows } = await postgres.query<{ count: number }>(
    'select count(*)::int from pg_stat_activity where datname = $1',
    [databaseName],
  );
  return rows[0]?.count ?? 0;
}

test('closed gateways and workers leave no connection open', async ({ openAnother }) => {
  const souk = await openAnother({ gateways: 2 });
  souk.upstream.on('product', ({ params }) => ({
    json: { products: [{ asin: params.asin, domainId: 1, productType: 0, title: 'T', csv: [] }] },
  }));
  const client = await souk.client();
  const other = souk.clientOf(client.key, 1);
  for (const [i, customer] of [client, other, client].entries()) {
    const reply = await customer.get(`/api/market/product?domain=1&asins=B00000000${i}`);
    expect(reply.status).toBe(200);
  }
  const databaseName = new URL(souk.databaseUrl).pathname.slice(1);
  const ports = new Set(sockets.flatMap(({ localPort }) => localPort ?? []));
  expect((await redisConnections(ports)).length).toBeGreaterThan(6);
  expect(await sessionsIn(databaseName)).toBeGreaterThan(1);

  const storePorts = [souk.redisUrl, souk.databaseUrl].map((url) => Number(new URL(url).port));
  const toStores = sockets.filter(({ remotePort }) => storePorts.includes(remotePort ?? 0));
  expect(toStores.length).toBeGreaterThan(8);

  // Closing drops the database, which fails while a connection is open.
  await souk.close();
  await expect.poll(() => redisConnections(ports)).toEqual([]);
  expect(await sessionsIn(databaseName)).toBe(0);
  expect(toStores.filter(({ destroyed }) => !destroyed)).toEqual([]);
});

test('a process exits after closing its gateway and worker', { timeout: 60_000 }, async ({ database }) => {
  const program = join(inject('programs'), 'test/support/open-and-close.js');
  const stores = [database.options.connectionString ?? '', inject('redisUrl'), 'test-leaks'];
  // A process that does not end by itself fails at this limit.
  const { stdout } = await run(process.execPath, [program, ...stores], { timeout: 50_000 });
  expect(stdout).toBe('open\nclosed\n');
});
