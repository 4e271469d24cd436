import { setTimeout as pause } from 'node:timers/promises';
import type { Dice } from './dice.ts';
import type { Server, SoakServices } from './services.ts';

/**
 * kill: SIGKILL, and a restart; of PostgreSQL with a standby, its promotion. forget: the same, and Redis loses its data. stop:
 * SIGSTOP, and SIGCONT some time later. change: the standby of PostgreSQL becomes the primary, which becomes read-only before.
 */
export interface Strike {
  action: 'kill' | 'forget' | 'stop' | 'change';
  server: Server;
}

/** When to strike. */
export interface Pace {
  /** Resolves with true when it is time for the next strike, with false when the run is over. */
  next(struck: number): Promise<boolean>;
  /** The longest time between a kill and the restart, and that for which a process is stopped. */
  longestDownMs: number;
  longestStopMs: number;
}

const KILLS: readonly Strike[] = [
  ...['gateway 1', 'gateway 2', 'worker 1', 'worker 2', 'redis', 'postgres'].map(
    (server) => ({ action: 'kill', server }) as const,
  ),
  { action: 'forget', server: 'redis' },
];

const STOPS: readonly Strike[] = ['gateway 1', 'worker 1', 'redis', 'postgres'].map((server) => ({
  action: 'stop',
  server,
}));

/** Each process is killed, and each kind of process stopped, once in a round. */
export const ROUND: readonly Strike[] = [...KILLS, ...STOPS];

/** Each kind of process is killed and stopped once: a restart takes two seconds of processor time. */
export const SHORT_ROUND: readonly Strike[] = ROUND.filter(({ server }) => !server.endsWith(' 2'));

/** A round for three gateways. The last one is never killed, so that its memory is that of the whole run. */
export const LONG_ROUND: readonly Strike[] = [
  ...ROUND,
  ...['gateway 2', 'gateway 3', 'worker 2'].map((server) => ({ action: 'stop', server }) as const),
];

/** The ways in which the standby of PostgreSQL becomes the primary, and a process that dies at another time. */
export const FAIL_OVERS: readonly Strike[] = [
  ...['postgres', 'gateway 1', 'worker 1'].map((server) => ({ action: 'kill', server }) as const),
  { action: 'change', server: 'postgres' },
];

/** Which servers are struck. */
export interface StrikePlan {
  round: readonly Strike[];
  /** How often two servers are struck at the same time, from 0 to 1. */
  pairs: number;
}

/**
 * Strikes one process after the other, sometimes two at the same time, until the run is over and each has been struck.
 * @returns the number of strikes of each kind.
 */
export async function strike(
  services: SoakServices,
  { round, pairs, pace, dice, say }: StrikePlan & { pace: Pace; dice: Dice; say(line: string): void },
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let waiting: Strike[] = [];
  let struck = 0;
  // Processes take seconds to start. Others may be struck meanwhile.
  const returning = new Map<Server, Promise<void>>();
  while ((await pace.next(struck)) || struck < round.length) {
    if (waiting.length === 0) waiting = dice.shuffle(round);
    // Two strikes at the same server cannot be made together.
    const chosen = waiting.splice(0, dice.fraction() < pairs ? 2 : 1).filter(isFirstOfItsServer);
    const [downMs, stopMs] = [dice.integer(50, pace.longestDownMs), stopTime(dice, pace.longestStopMs)];
    say(chosen.map(({ action, server }) => `${action} ${server}`).join(' and '));
    await Promise.all(chosen.map(({ server }) => returning.get(server) ?? Promise.resolve()));
    struck += chosen.length;
    for (const { action, server } of chosen) {
      const name = `${action} ${server}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    const back = strikeAll(services, chosen, (action) => (action === 'stop' ? stopMs : downMs));
    for (const [server, done] of back) returning.set(server, done);
    // An unavailable store stops the service; an unavailable process does not.
    await storesOf(back);
  }
  await Promise.all(returning.values());
  return counts;
}

/** Strikes several servers. @returns when each of them is back. */
function strikeAll(
  services: SoakServices,
  strikes: readonly Strike[],
  timeOf: (action: Strike['action']) => number,
): Map<Server, Promise<void>> {
  const back = new Map<Server, Promise<void>>();
  // Stores restart first, because the other processes need them.
  for (const { action, server } of [...strikes].sort(storesFirst)) {
    const stores = storesOf(back);
    back.set(server, strikeOne(services, { action, server }, timeOf(action), stores));
  }
  return back;
}

async function strikeOne(
  services: SoakServices,
  { action, server }: Strike,
  forMs: number,
  stores: Promise<unknown>,
): Promise<void> {
  if (action === 'stop') {
    const thaw = await services.freeze(server);
    await pause(forMs);
    thaw();
    return;
  }
  if (action === 'change') return services.changeRoles();
  await services.kill(server);
  await pause(forMs);
  await stores;
  await services.restart(server, action === 'forget');
}

/** Mostly shorter than a second: longer stops would leave no time for anything else. */
function stopTime(dice: Dice, longestMs: number): number {
  return Math.round(longestMs * dice.fraction() ** 3) + 50;
}

/** Resolves when the stores among some servers are back. */
async function storesOf(back: ReadonlyMap<Server, Promise<void>>): Promise<void> {
  await Promise.all([...back].filter(([server]) => isStore(server)).map(([, done]) => done));
}

function isFirstOfItsServer({ server }: Strike, i: number, strikes: readonly Strike[]): boolean {
  return strikes.findIndex((other) => other.server === server) === i;
}

function storesFirst(a: Strike, b: Strike): number {
  return Number(isStore(b.server)) - Number(isStore(a.server));
}

function isStore(server: Server): boolean {
  return server === 'redis' || server === 'postgres';
}
