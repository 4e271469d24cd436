import { Cluster, type Redis as SingleRedis } from 'ioredis';

type Connection = SingleRedis | Cluster;

/** A connection and its duplicates, such as those on which BullMQ waits for jobs. */
interface Family {
  open: Set<Connection>;
  hasEnded: boolean;
}

const families = new WeakMap<Connection, Family>();

/** The error of ioredis for commands on a closed connection. BullMQ knows it by this text. */
const closedError = () => new Error('Connection is closed.');

/**
 * Makes `disconnect` end a connection, and with it the commands that wait for Redis, in any state. ioredis ends a connection when
 * its socket closes, so one without a socket, which waits for its next attempt to connect, would never end.
 * @returns the connection.
 */
export function endable<Own extends Connection>(
  redis: Own,
  family: Family = { open: new Set(), hasEnded: false },
): Own {
  families.set(redis, family);
  family.open.add(redis);
  const { connect, disconnect } = redis;
  const duplicate = redis.duplicate.bind(redis) as (...settings: unknown[]) => Connection;
  redis.on('end', () => family.open.delete(redis));
  // A cluster reports that it is closed once for each of its nodes, also after its end.
  redis.on('close', () => {
    if (family.hasEnded) endNow(redis);
  });
  redis.connect = async () => {
    if (family.hasEnded) throw closedError();
    family.open.add(redis);
    await connect.call(redis);
  };
  redis.disconnect = (reconnect = false) => {
    const hasSocket = mayHaveSocket(redis);
    disconnect.call(redis, reconnect);
    if (!reconnect && !hasSocket) endNow(redis);
  };
  redis.duplicate = ((...settings: unknown[]) =>
    endable(duplicate(...settings), family)) as typeof redis.duplicate;
  return redis;
}

/** A cluster has no socket either while it looks up the addresses of its nodes. */
function mayHaveSocket(redis: Connection): boolean {
  if (redis.status === 'reconnecting') return false;
  return !(redis instanceof Cluster && redis.status === 'connecting' && redis.nodes().length === 0);
}

function endNow(redis: Connection): void {
  const client = redis as unknown as { setStatus(status: string): void; flushQueue(error: Error): void };
  client.setStatus('end');
  client.flushQueue(closedError());
}

/** Ends connections and their duplicates for good: their commands fail, those that wait and later ones. */
export function endRedis(...connections: readonly Connection[]): void {
  for (const redis of connections) {
    const family = families.get(redis);
    if (!family) continue;
    family.hasEnded = true;
    for (const member of family.open) member.disconnect();
  }
}
