import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDatabase, type Queryable, STATEMENT_LIMITS } from '../../../src/platform/db/pool.ts';
import { watchPrimary } from '../../../src/platform/db/primary-watch.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { outageOf } from '../../../src/platform/outage.ts';
import { checkPostgres } from '../../../src/start/check-services.ts';
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

const outageOfQuery = (database: Queryable) => database.query(PORT).then(() => 'none', outageOf);

const portOf = (url: string) => new URL(url).port;

test('a standby is refused, unless the address allows any server', async () => {
  await expect(checkPostgres(pair.standbyUrl)).rejects.toThrow(
    'DATABASE_URL does not lead to a usable PostgreSQL: it accepts no writes',
  );
  const pool = openDatabase(pair.standbyUrl, log);
  expect(await outageOfQuery(pool)).toBe('down');
  await pool.end();
  const reading = openDatabase(`${pair.standbyUrl}?target_session_attrs=any`, log);
  expect((await reading.query(PORT)).rows).toEqual([{ port: portOf(pair.standbyUrl) }]);
  await reading.end();
});

test('a server that accepts a connection and answers nothing counts as slow after the time limit of connecting', async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => {
    sockets.add(socket);
    // The start of a connection: accepted without a password, and ready for a query.
    socket.once('data', () => socket.write(Buffer.from('5200000008000000005a0000000549', 'hex')));
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', () => resolve()));
  const { port } = silent.address() as AddressInfo;
  const pool = openDatabase(`postgresql://souk@127.0.0.1:${port}/souk`, log, {
    limits: STATEMENT_LIMITS.unlimited,
    connectMs: 200,
  });
  expect(await outageOfQuery(pool)).toBe('slow');
  await pool.end();
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => silent.close(() => resolve()));
});

test('a wrong password is no outage', async () => {
  const pool = openDatabase(pair.primaryUrl.replace(/:[^:@]*@/, ':wrong@'), log);
  expect(await outageOfQuery(pool)).toBe(null);
  await pool.end();
});

test('connections leave a primary that becomes read-only, even those that only read, and find the next', async () => {
  const proxy = await openProxy(pair.primaryUrl);
  const [pool, probe] = [openDatabase(proxy.url, log), openDatabase(proxy.url, log, { max: 1 })];
  const stopWatching = watchPrimary(probe, [pool], 60_000, log);
  const clients = [await pool.connect(), await pool.connect()];
  clients[0]?.release();
  await pair.demote();
  await expect.poll(() => pool.idleCount).toBe(0);
  await expect(clients[1]?.query(PORT)).rejects.toThrow();
  clients[1]?.release();
  // The server can be reached, but there is no primary.
  expect(await outageOfQuery(pool)).toBe('down');
  await pair.promote();
  proxy.moveTo(pair.primaryUrl);
  expect((await pool.query(PORT)).rows).toEqual([{ port: portOf(pair.primaryUrl) }]);
  await expect.poll(() => outageOfQuery(probe)).toBe('none');
  await pair.rebuild();
  await stopWatching();
  await Promise.all([pool.end(), probe.end()]);
  await proxy.close();
});

test('after the death of the primary, queries find the standby to which the address has moved', async () => {
  const proxy = await openProxy(pair.primaryUrl);
  const pool = openDatabase(proxy.url, log);
  await pool.query('create table kept as select 1 as n');
  await pair.killPrimary();
  // The server's process of the connection ends a moment after the first one.
  await expect.poll(() => outageOfQuery(pool)).toBe('down');
  await pair.promote();
  proxy.moveTo(pair.primaryUrl);
  expect((await pool.query('select n from kept')).rows).toEqual([{ n: 1 }]);
  await pool.end();
  await proxy.close();
});

test('a query without a time limit ends when its server hangs: the store is slow', async () => {
  const proxy = await openProxy(pair.primaryUrl);
  const pool = openDatabase(proxy.url, log, { limits: STATEMENT_LIMITS.unlimited });
  const probe = openDatabase(proxy.url, log, { max: 1, connectMs: 200 });
  const stopWatching = watchPrimary(probe, [pool], 200, log);
  const client = await pool.connect();
  await pool.query(PORT);
  proxy.disturb({ hold: 'both' });
  expect(await outageOfQuery(pool)).toBe('slow');
  // A transaction that was between two queries when the connections were closed.
  expect(await outageOfQuery(client)).toBe('slow');
  client.release();
  await stopWatching();
  await Promise.all([pool.end(), probe.end()]);
  await proxy.close();
});
