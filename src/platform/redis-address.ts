import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

/** One server, in the form of ioredis. */
interface RedisNode {
  host: string;
  port: number;
}

/** Where Redis is, as its address says: one server, a server that Sentinel names, or a Redis Cluster. */
export interface RedisAddress {
  form: 'server' | 'sentinel' | 'cluster';
  /** The server; the sentinels; or some nodes of the cluster, which name the others. Never empty. */
  nodes: readonly RedisNode[];
  /** The name of the server that the sentinels watch. */
  masterName?: string;
  username?: string;
  password?: string;
  /** The database of a server; a cluster has only 0. */
  db: number;
  /** Present if connections are encrypted. */
  tls?: ConnectionOptions;
}

/** An address of Redis is invalid. The message continues the name of the setting. */
export class RedisAddressError extends Error {}

const FORMS =
  'redis://host:port, rediss://host:port, redis+sentinel://host:port,host:port/master-name or redis+cluster://host:port,host:port';
const SHAPE =
  /^redis(s)?(?:\+(sentinel|cluster))?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
const DEFAULT_PORTS = { server: 6379, sentinel: 26379, cluster: 6379 } as const;

/** Parameters of a `rediss` address that name files in PEM format; the names are those of redis-py. */
const FILES = { ssl_ca_certs: 'ca', ssl_certfile: 'cert', ssl_keyfile: 'key' } as const;

/** Reads an address of Redis. User name and password are percent-encoded. @throws RedisAddressError */
export function parseRedisAddress(address: string): RedisAddress {
  const [, encrypted, kind, credentials = '', hosts = '', path = '', query = ''] = SHAPE.exec(address) ?? [];
  if (hosts === '') throw new RedisAddressError(`must be ${FORMS}`);
  const form = (kind ?? 'server') as RedisAddress['form'];
  const nodes = hosts.split(',').map((host) => nodeOf(host, DEFAULT_PORTS[form]));
  if (form === 'server' && nodes.length > 1)
    throw new RedisAddressError('names several servers; they need redis+sentinel:// or redis+cluster://');
  const [username = '', ...rest] = credentials.split(':').map(decoded);
  const password = rest.join(':');
  const segments = path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decoded);
  const masterName = form === 'sentinel' ? segments.shift() : undefined;
  if (form === 'sentinel' && !masterName)
    throw new RedisAddressError('needs the name of the master: redis+sentinel://host:port/master-name');
  const db = databaseOf(form, segments);
  return {
    form,
    nodes,
    db,
    ...(masterName && { masterName }),
    ...(username && { username }),
    ...(password && { password }),
    ...(encrypted && { tls: tlsOf(new URLSearchParams(query)) }),
  };
}

function nodeOf(host: string, defaultPort: number): RedisNode {
  const given = `redis://${host}`;
  const url = URL.canParse(given) ? new URL(given) : null;
  if (!url?.hostname) throw new RedisAddressError(`has an invalid server ${host}; a server is host:port`);
  // The URL of an IPv6 address has it in brackets.
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? defaultPort : Number(url.port),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisAddressError('has a % that is not followed by two hexadecimal digits; write it as %25');
  }
}

function databaseOf(form: RedisAddress['form'], segments: readonly string[]): number {
  const [text = '0', ...more] = segments;
  if (more.length > 0 || !/^\d{1,5}$/.test(text))
    throw new RedisAddressError('has an invalid database; it is a number, such as 0');
  if (form === 'cluster' && Number(text) !== 0)
    throw new RedisAddressError('names a database; a Redis Cluster has only database 0');
  return Number(text);
}

function tlsOf(query: URLSearchParams): ConnectionOptions {
  const tls: ConnectionOptions = {};
  for (const [name, path] of query) {
    if (!Object.hasOwn(FILES, name))
      throw new RedisAddressError(
        `has the unknown parameter ${name}; known: ${Object.keys(FILES).join(', ')}`,
      );
    try {
      tls[FILES[name as keyof typeof FILES]] = readFileSync(path);
    } catch {
      throw new RedisAddressError(`names the file ${path}, which cannot be read`);
    }
  }
  return tls;
}
