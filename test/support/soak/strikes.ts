import { setTimeout as pause } from 'node:timers/promises';
import { type Amount, NETWORK_FAULTS, type NetworkAction, type Server, type Strike } from './plan.ts';
import type { SoakServices } from './services.ts';

const LOOK_EVERY_MS = 20;

/**
 * Makes strikes at their times, until the run is over. A strike waits until its server is back from the one before.
 * @param run.sent returns the number of calls that were sent.
 * @returns the number of strikes of each kind.
 */
export async function strike(
  services: SoakServices,
  strikes: readonly Strike[],
  run: { amount: Amount; sent(): number; say(line: string): void; onKilled(server: Server): void },
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const untilTime = createWait(run);
  // Processes take seconds to start. Others may be struck meanwhile.
  const returning = new Map<Server, Promise<void>>();
  for (const at of new Set(strikes.map((one) => one.at))) {
    if (!(await untilTime(at))) break;
    const chosen = strikes.filter((one) => one.at === at);
    run.say(chosen.map(({ action, server, forMs }) => `${action} ${server} (${forMs} ms)`).join(' and '));
    await Promise.all(chosen.map(({ server }) => returning.get(server) ?? Promise.resolve()));
    for (const { action, server } of chosen) {
      const name = `${action} ${server}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    const back = strikeAll(services, chosen, run.onKilled);
    for (const [server, done] of back) returning.set(server, done);
    // An unavailable store stops the service; an unavailable process does not.
    await storesOf(back);
  }
  const { amount } = run;
  await untilTime('seconds' in amount ? amount.seconds * 1_000 : amount.calls);
  await Promise.all(returning.values());
  return counts;
}

/** Returns a function that waits for a time of the run, and returns false if the run is over before it. */
function createWait({ amount, sent }: { amount: Amount; sent(): number }) {
  const startedAt = Date.now();
  return async (at: number): Promise<boolean> => {
    if ('seconds' in amount) {
      await pause(Math.max(0, startedAt + at - Date.now()));
      return true;
    }
    const isLate = () => Date.now() > startedAt + amount.limitSeconds * 1_000;
    while (sent() < at && !isLate()) await pause(LOOK_EVERY_MS);
    return !isLate();
  };
}

/** Strikes several servers. @returns when each of them is back. */
function strikeAll(
  services: SoakServices,
  strikes: readonly Strike[],
  onKilled: (server: Server) => void,
): Map<Server, Promise<void>> {
  const back = new Map<Server, Promise<void>>();
  // Stores restart first, because the other processes need them.
  for (const one of [...strikes].sort(storesFirst))
    back.set(one.server, strikeOne(services, one, { stores: storesOf(back), onKilled }));
  return back;
}

async function strikeOne(
  services: SoakServices,
  { action, server, forMs }: Strike,
  { stores, onKilled }: { stores: Promise<unknown>; onKilled(server: Server): void },
): Promise<void> {
  if (action === 'change') return services.changeRoles();
  if (action === 'kill' || action === 'forget') {
    await services.kill(server);
    onKilled(server);
    await pause(forMs);
    await stores;
    return services.restart(server, action === 'forget');
  }
  if (action === 'stop') {
    const thaw = await services.freeze(server);
    await pause(forMs);
    thaw();
    return;
  }
  const end = await disturb(services, action, server);
  await pause(forMs);
  await end();
}

/** Gives the network between two servers a fault. @returns what ends it. */
async function disturb(
  services: SoakServices,
  action: NetworkAction,
  server: Server,
): Promise<() => Promise<void>> {
  const link = services.links.get(server);
  if (!link) throw new Error(`There is no network ${server}.`);
  const fault = NETWORK_FAULTS[action];
  if (fault === 'cut') await link.cut();
  else link.disturb(fault);
  return () => link.restore();
}

/** Resolves when the stores among some servers are back. */
async function storesOf(back: ReadonlyMap<Server, Promise<void>>): Promise<void> {
  await Promise.all([...back].filter(([server]) => isStore(server)).map(([, done]) => done));
}

function storesFirst(a: Strike, b: Strike): number {
  return Number(isStore(b.server)) - Number(isStore(a.server));
}

function isStore(server: Server): boolean {
  return /^(redis|postgres)/.test(server);
}
