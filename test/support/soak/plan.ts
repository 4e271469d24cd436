import type { NetworkFault } from '../proxy.ts';
import type { Dice } from './dice.ts';

/** `gateway 1`, `worker 2`, `redis`, `postgres`, or the network between two of them, `gateway 1 to redis`. */
export type Server = string;

/** The faults that the network between a process and a store can have. `cut` breaks and refuses connections. */
export const NETWORK_FAULTS = {
  cut: 'cut',
  delay: { delayMs: 100, jitterMs: 400 },
  hold: { hold: 'both' },
  'hold requests': { hold: 'requests' },
  'hold replies': { hold: 'replies' },
  'lose replies': { losesReplies: true },
} as const satisfies Record<string, NetworkFault | 'cut'>;

export type NetworkAction = keyof typeof NETWORK_FAULTS;

/**
 * kill: SIGKILL, and a restart; of PostgreSQL with a standby, its promotion. forget: the same, and Redis loses its data. stop:
 * SIGSTOP, and SIGCONT some time later. change: the standby of PostgreSQL becomes the primary, which becomes read-only before.
 */
export interface Fault {
  action: 'kill' | 'forget' | 'stop' | 'change' | NetworkAction;
  server: Server;
}

/** A fault at a time of a run: milliseconds, or the number of calls that were sent. Those at the same time are made together. */
export interface Strike extends Fault {
  at: number;
  /** How long the server is down, stopped or unreachable. */
  forMs: number;
}

/** A run for a time, with pauses between strikes. */
interface Duration {
  seconds: number;
  /** The longest pause between two strikes. */
  pauseMs: number;
}

/** A run for a number of calls, over which the strikes are spread. */
interface Quantity {
  calls: number;
  strikes: number;
  /** The run ends after this time, also with fewer calls. */
  limitSeconds: number;
}

export type Amount = Duration | Quantity;

/** The servers of a run. */
export interface Topology {
  gateways: number;
  /** PostgreSQL has a standby. */
  standby?: boolean | undefined;
  /** Redis is a cluster of three masters with replicas, or a server with a replica and sentinels. */
  redis?: 'cluster' | 'sentinel' | undefined;
  /** The number of accounts at the provider. */
  providers?: number | undefined;
}

const faults = (action: Fault['action'], servers: readonly Server[]) =>
  servers.map((server): Fault => ({ action, server }));

/** Each process is killed, and each kind of process stopped, once in a round. */
export function roundOf({ gateways, standby, redis }: Topology): Fault[] {
  const processes = ['gateway 1', 'gateway 2', 'worker 1', 'worker 2'];
  const servers = redisServers(redis);
  return [
    ...faults('kill', [...processes, ...servers, 'postgres']),
    ...faults('stop', ['gateway 1', 'worker 1', ...servers.slice(0, 1), 'postgres']),
    ...(redis ? [] : faults('forget', ['redis'])),
    ...(standby ? faults('change', ['postgres', 'postgres']) : []),
    // The last of three gateways is never killed, so that its memory is that of the whole run.
    ...(gateways > 2 ? faults('stop', ['gateway 2', 'gateway 3', 'worker 2']) : []),
  ];
}

/** Each fault of each network. */
export function networkRoundOf({ redis }: Topology): Fault[] {
  const links = ['gateway 1', 'gateway 2', 'worker 1', 'worker 2'].flatMap((from) => [
    `${from} to postgres`,
    ...(redis ? [] : [`${from} to redis`]),
  ]);
  // The nodes tell clients their addresses, so a network is that of all clients with a node.
  if (redis) links.push(...redisServers(redis).map((server) => `all to ${server}`));
  return links.flatMap((link) =>
    (Object.keys(NETWORK_FAULTS) as NetworkAction[]).map((action) => ({ action, server: link })),
  );
}

export function redisServers(redis: Topology['redis']): Server[] {
  if (redis === undefined) return ['redis'];
  return Array.from({ length: redis === 'cluster' ? 6 : 2 }, (_, i) => `redis ${i + 1}`);
}

/** Each kind of process is killed and stopped once, for tests: a restart takes two seconds of processor time. */
export const SHORT_ROUND: readonly Fault[] = [
  ...faults('kill', ['gateway 1', 'worker 1', 'redis', 'postgres']),
  ...faults('stop', ['gateway 1', 'worker 1', 'redis', 'postgres']),
  { action: 'forget', server: 'redis' },
  { action: 'hold', server: 'worker 1 to postgres' },
  { action: 'lose replies', server: 'gateway 1 to redis' },
];

/** The ways in which the standby of PostgreSQL becomes the primary, and a process that dies at another time. */
export const FAIL_OVERS: readonly Fault[] = [
  ...faults('kill', ['postgres', 'gateway 1', 'worker 1']),
  ...faults('change', ['postgres']),
];

const LONGEST_DOWN_MS = 1_000;
const LONGEST_STOP_MS = 6_000;

/**
 * Draws the strikes of a run: rounds of faults in any order, each with as many network faults, and sometimes two at the same time.
 * @param options.pairs how often two are struck at the same time, from 0 to 1.
 */
export function planStrikes(
  dice: Dice,
  options: { round: readonly Fault[]; network: readonly Fault[]; pairs: number; amount: Amount },
): Strike[] {
  const { round, network, pairs, amount } = options;
  const longestMs = 'seconds' in amount ? amount.pauseMs / 2 : LONGEST_STOP_MS;
  const strikes: Strike[] = [];
  let waiting: Fault[] = [];
  let at = 0;
  const isOver = () =>
    'seconds' in amount
      ? at >= amount.seconds * 1_000 && strikes.length >= round.length
      : strikes.length >= amount.strikes;
  while (!isOver()) {
    if (waiting.length === 0)
      waiting = dice.shuffle([...round, ...dice.shuffle(network).slice(0, round.length)]);
    at =
      'seconds' in amount
        ? at + dice.integer(200, amount.pauseMs)
        : Math.round(((strikes.length + 1) * amount.calls) / (amount.strikes + 1));
    for (const fault of waiting.splice(0, dice.fraction() < pairs ? 2 : 1))
      if (!strikes.some((other) => other.at === at && other.server === fault.server))
        strikes.push({ ...fault, at, forMs: timeOf(fault, dice, longestMs) });
  }
  return strikes;
}

/** Stops are mostly shorter than a second: longer ones would leave no time for anything else. */
function timeOf({ action }: Fault, dice: Dice, longestMs: number): number {
  if (action === 'kill' || action === 'forget') return dice.integer(50, LONGEST_DOWN_MS);
  if (action === 'stop') return Math.round(longestMs * dice.fraction() ** 3) + 50;
  return Math.round(2 * longestMs * dice.fraction() ** 2) + 200;
}
