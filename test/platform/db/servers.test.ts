import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { openDatabase } from '../../../src/platform/db/pool.ts';
import { addressFault, connectToPrimary, serversIn } from '../../../src/platform/db/servers.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { outageOf } from '../../../src/platform/outage.ts';
import { checkPostgres } from '../../../src/start/check-services.ts';
import { openEndingServer } from '../../support/ending-server.ts';
import { type PostgresPair, startPostgresPair } from '../../support/postgres-pair.ts';
import { openProxy } from '../../support/proxy.ts';

let folder: string;
let pair: PostgresPair;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'souk-pair-'));
  await chmod(folder, 0o755);
  pair = await startPostgresPair(folder);
});
afterAll(async () => {
  await pair.close();
  await rm(folder, { recursive: true, force: true });
});

const log = createLogger('silent');

/** The port of the server that answers. */
const PORT = "select current_setting('port') as port";

const portOf = (url: string) => new URL(url).port;

test('an address names one server or several, which share user, database and parameters', () => {
  expect(serversIn('postgresql://u:p@a/souk')).toEqual(['postgresql://u:p@a/souk']);
  expect(serversIn('postgres://u:p@a:1,[::1]:2,c/souk?sslmode=require')).toEqual([
    'postgres://u:p@a:1/souk?sslmode=require',
    'postgres://u:p@[::1]:2/souk?sslmode=require',
    'postgres://u:p@c/souk?sslmode=require',
  ]);
});

test.for([
  ['postgresql://u@a:1,b:2/souk', null],
  ['postgresql://u@a:1,b:2/souk?target_session_attrs=read-write', null],
  ['postgresql://u@a/souk?target_session_attrs=any', null],
  ['postgresql://u@a/souk?target_session_attrs=standby', /^has an invalid target_session_attrs/],
  ['postgresql://u@a:1,b:x/souk', /^must be an address/],
  ['postgresql://u@a:1,:2/souk', /^must be an address/],
] as const)('the fault of the address %s is %s', ([address, fault]) => {
  expect(addressFault(address) ?? 'none').toMatch(fault ?? 'none');
});

test('a standby is refused, unless the address allows any server', async () => {
  await expect(checkPostgres(pair.standbyUrl)).rejects.toThrow(
    'DATABASE_URL does not lead to a usable PostgreSQL: no server accepts writes',
  );
  const pool = openDatabase(pair.standbyUrl, log);
  expect(outageOf(await pool.query(PORT).catch((error: unknown) => error))).toBe('away');
  await pool.end();
  const reading = openDatabase(`${pair.standbyUrl}?target_session_attrs=any`, log);
  expect((await reading.query(PORT)).rows).toEqual([{ port: portOf(pair.standbyUrl) }]);
  await reading.end();
});

test('of two servers the primary is used, by programs as well', async () => {
  await checkPostgres(pair.url);
  await migrate(pair.url);
  const turned = pair.url.replace(/@(.*),(.*)\//, '@$2,$1/');
  for (const url of [pair.url, turned]) {
    const client = await connectToPrimary(url);
    expect((await client.query(PORT)).rows).toEqual([{ port: portOf(pair.primaryUrl) }]);
    await client.end();
  }
});

test('a wrong password is no outage', async () => {
  const url = pair.url.replace(/:[^:@]*@/, ':wrong@');
  const pool = openDatabase(url, log);
  expect(outageOf(await pool.query(PORT).catch((error: unknown) => error))).toBe(null);
  await pool.end();
});

test('a connection that the server ends as soon as it is open fails its query, and does not end the process', async () => {
  const server = await openEndingServer(pair.primaryUrl);
  const pool = openDatabase(server.url.replace(/(@[^/]*)/, '$1,127.0.0.1:1'), log);
  await expect(pool.query(PORT)).rejects.toThrow();
  expect(server.ended()).toBeGreaterThan(0);
  await pool.end();
  await server.close();
});

test('connections leave a primary that becomes read-only, also those that only read, and find the next', async () => {
  const proxy = await openProxy(pair.primaryUrl);
  const pools = [pair.url, proxy.url].map((url) => openDatabase(url, log));
  for (const pool of pools) {
    const clients = [await pool.connect(), await pool.connect()];
    for (const client of clients) client.release();
  }
  const former = portOf(pair.primaryUrl);
  await pair.demote();
  // The answer of a query tells that the server has become read-only. Until there is another, there is none.
  for (const pool of pools) {
    expect((await pool.query(PORT)).rows).toEqual([{ port: former }]);
    await expect.poll(() => pool.totalCount).toBe(0);
    expect(outageOf(await pool.query(PORT).catch((error: unknown) => error))).toBe('away');
  }
  await pair.promote();
  proxy.moveTo(pair.primaryUrl);
  for (const pool of pools)
    expect((await pool.query(PORT)).rows).toEqual([{ port: portOf(pair.primaryUrl) }]);
  await pair.rebuild();
  for (const pool of pools) await pool.end();
  await proxy.close();
});

test('after the death of the primary, queries find the standby that was promoted', async () => {
  const pool = openDatabase(pair.url, log);
  await pool.query('create table kept as select 1 as n');
  await pair.killPrimary();
  // The server's process of the connection ends a moment after the first one.
  await expect
    .poll(async () => outageOf(await pool.query(PORT).catch((error: unknown) => error)))
    .toBe('away');
  await pair.promote();
  expect((await pool.query('select n from kept')).rows).toEqual([{ n: 1 }]);
  expect((await pool.query(PORT)).rows).toEqual([{ port: portOf(pair.primaryUrl) }]);
  await pool.end();
});
