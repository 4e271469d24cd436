import { expect, test } from 'vitest';
import { openDatabase } from '../../../src/platform/db/pool.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { createTestDatabase } from '../../support/database.ts';

test('a connection that breaks in the middle of a transaction fails its next query, and ends no process', async () => {
  const { url, drop } = await createTestDatabase();
  const pool = openDatabase(url, createLogger('silent'));
  const client = await pool.connect();
  await client.query('begin');
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  const broken = new Promise((resolve) => client.once('end', resolve));
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
  // An error without a listener would end this process here.
  await broken;
  expect(client.listenerCount('error')).toBeGreaterThan(0);
  await expect(client.query('commit')).rejects.toThrow();
  client.release();
  // The pool does not use the broken connection again.
  expect((await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid).not.toBe(
    rows[0]?.pid,
  );
  await pool.end();
  await drop();
});

test('a connection compiles no query', async () => {
  const { url, drop } = await createTestDatabase();
  const pool = openDatabase(url, createLogger('silent'));
  expect((await pool.query('show jit')).rows).toEqual([{ jit: 'off' }]);
  await pool.end();
  await drop();
});
