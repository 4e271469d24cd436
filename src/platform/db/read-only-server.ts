import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type pg from 'pg';
import { NoPrimary } from '../outage.ts';

/** PostgreSQL reports a change of these with the answer to the next query of a connection. */
const REPORTED = new Set(['in_hot_standby', 'default_transaction_read_only']);

/** The parts of a client that its types leave out. */
interface Driver {
  connection: EventEmitter & { stream: Socket };
}

/**
 * Closes the connections of a pool when their server becomes read-only, as a primary does before a change of roles. Otherwise those
 * that only read would stay, and read old data. A connection with a query is closed when it is returned.
 */
export function leaveReadOnlyServer(pool: pg.Pool, onReadOnly: () => void): void {
  const idle = new Set<pg.PoolClient>();
  const left = new WeakSet<pg.PoolClient>();
  pool.on('acquire', (client) => idle.delete(client));
  pool.on('remove', (client) => idle.delete(client));
  pool.on('release', (_error, client) => {
    if (left.has(client)) void client.end();
    else idle.add(client);
  });
  pool.on('connect', (client) => {
    driverOf(client).connection.on('parameterStatus', (status: Record<string, string>) => {
      const { parameterName = '', parameterValue } = status;
      if (!REPORTED.has(parameterName) || parameterValue !== 'on' || left.has(client)) return;
      left.add(client);
      for (const other of idle) driverOf(other).connection.stream.destroy(new NoPrimary());
      onReadOnly();
    });
  });
}

const driverOf = (client: pg.ClientBase) => client as unknown as Driver;
