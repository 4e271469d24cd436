import { callbackify } from 'node:util';
import pg from 'pg';
import { NoPrimary, outageOf } from '../outage.ts';

/** Where a server listens. */
type Place = Pick<pg.Client, 'host' | 'port'>;

const SHAPE = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/;

/** The values of libpq's `target_session_attrs` that are supported; a service needs a server that accepts writes. */
const TARGETS = ['read-write', 'primary', 'any'];

/**
 * Returns one address for each server that an address of PostgreSQL names: `postgresql://user@a:5432,b:5432/souk` names two.
 * @throws TypeError if it is no address.
 */
export function serversIn(address: string): [string, ...string[]] {
  const [, start = '', hosts = '', rest = ''] = SHAPE.exec(address) ?? [];
  const servers = hosts.split(',').map((host) => `${start}${host}${rest}`);
  for (const server of servers) new URL(server);
  return servers as [string, ...string[]];
}

/** Returns why an address of PostgreSQL cannot be used; null if it can. */
export function addressFault(address: string): string | null {
  const servers = SHAPE.test(address) ? address : '';
  try {
    const target = new URL(serversIn(servers)[0]).searchParams.get('target_session_attrs');
    if (target === null || TARGETS.includes(target)) return null;
    return `has an invalid target_session_attrs; it is ${TARGETS.join(', ')}`;
  } catch {
    return 'must be an address such as postgresql://user:password@host:5432/souk, or with several servers postgresql://user:password@host:5432,host:5432/souk';
  }
}

/** Returns whether connections to a server that accepts no writes are refused. */
export function needsWrites(address: string): boolean {
  return new URL(serversIn(address)[0]).searchParams.get('target_session_attrs') !== 'any';
}

/** The class of the connections of a pool to several servers: each connects to the one that accepts writes. */
export interface PrimaryClients {
  Client: new () => pg.ClientBase;
  /** Says that the server that was found may accept writes no longer, so that the next connection looks for it again. */
  lost(): void;
}

/** @param limitMs how long a connection looks for the server. */
export function primaryClients(address: string, limitMs: number): PrimaryClients {
  /** Connections that are opened at the same time share a search. */
  let found: Promise<Place> | null = null;
  const lost = () => {
    found = null;
  };
  const find = () => {
    found ??= findPrimary(address, limitMs).catch((error) => {
      lost();
      throw error;
    });
    return found;
  };

  class PrimaryClient extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      if (!callback) return this.#connectToPrimary();
      callbackify(() => this.#connectToPrimary())(callback);
      return undefined;
    }

    async #connectToPrimary(): Promise<pg.Client> {
      const startedAt = performance.now();
      Object.assign(this, await find());
      // The pool has given up meanwhile, and has closed the socket.
      if (performance.now() - startedAt >= limitMs) throw new NoPrimary();
      // The pool listens a moment after the connection is there, and the server may end it meanwhile.
      this.on('error', lost);
      return super.connect().catch((error: unknown) => {
        lost();
        throw error;
      });
    }
  }
  return { Client: PrimaryClient, lost };
}

/**
 * Opens a connection to the server of an address that accepts writes, outside a pool. Its user closes it.
 * @throws NoPrimary if there is none.
 */
export async function connectToPrimary(address: string, config: pg.ClientConfig = {}): Promise<pg.Client> {
  const { connectionTimeoutMillis: limitMs = 5_000 } = config;
  const servers = serversIn(address);
  const place = servers.length > 1 ? await findPrimary(address, limitMs) : {};
  const client = Object.assign(new pg.Client({ ...config, connectionString: servers[0] }), place);
  // A broken connection also rejects its query. Without a listener, the event would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    if (needsWrites(address)) await requireWrites(client, limitMs);
    return client;
  } catch (error) {
    void client.end().catch(() => {});
    throw error;
  }
}

/** Looks for the server that accepts writes on all servers at once, because one that is away may not even refuse. */
async function findPrimary(address: string, limitMs: number): Promise<Place> {
  const look = async (server: string): Promise<Place> => {
    const client = new pg.Client({
      connectionString: server,
      connectionTimeoutMillis: limitMs,
      application_name: 'souk-probe',
    });
    client.on('error', () => {});
    try {
      await client.connect();
      if (needsWrites(address)) await requireWrites(client, limitMs);
      return { host: client.host, port: client.port };
    } finally {
      void client.end().catch(() => {});
    }
  };
  try {
    return await Promise.any(serversIn(address).map(look));
  } catch (error) {
    const { errors } = error as AggregateError;
    // A wrong password or database is no outage.
    throw errors.find((one) => outageOf(one) === null) ?? new NoPrimary({ cause: error });
  }
}

/** True on a standby, and on a primary that has been made read-only before a change of roles. */
export const READ_ONLY = `current_setting('transaction_read_only')::boolean`;

async function requireWrites(client: pg.ClientBase, limitMs: number): Promise<void> {
  const query: pg.QueryConfig & { query_timeout: number } = {
    text: `select ${READ_ONLY} as "readOnly"`,
    query_timeout: limitMs,
  };
  const { rows } = await client.query<{ readOnly: boolean }>(query);
  if (rows[0]?.readOnly) throw new NoPrimary();
}
