import type { Database } from '../../../src/platform/db/pool.ts';
import { createSoakAccounts } from './accounts.ts';
import { startBackground } from './background.ts';
import { auditClients } from './client-audit.ts';
import { type Observation, startClients } from './clients.ts';
import { collectResults } from './collect.ts';
import { createDice, type Dice } from './dice.ts';
import { auditLedger, type Fault } from './ledger-audit.ts';
import { openSoakServices, type SoakServices, VICTIMS, type Victim } from './services.ts';

export interface SoakOptions {
  /** Determines the requests and the kills. Their timing also depends on the machine. */
  seed: number;
  /** The minimum duration of the load. Every process is killed at least once during that time. */
  seconds: number;
  /** Folder of the compiled programs. */
  programs: string;
  /** The longest pause between the restart of a killed process and the next kill. */
  pauseMs: number;
  clients: number;
  /** How many accounts of each kind. */
  rounds: number;
  /** How long calls may stay open after the last was sent. */
  drainSeconds: number;
  /** Receives progress messages. */
  say(line: string): void;
}

export interface SoakReport {
  /** The number of answers of each kind. */
  sent: Record<string, number>;
  kills: Record<string, number>;
  calls: Record<string, number>;
  /** Batches, items, runs of schedules, deliveries. */
  background: Record<string, number>;
  /** The time until all calls of clients had ended. */
  drainMs: number;
  faults: Fault[];
}

/**
 * Kills the processes of a service under load, one or two at a time, and restarts them; then checks every unit.
 */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { seed, rounds, clients: count, say } = options;
  const dice = createDice(seed);
  const services = await openSoakServices(options.programs);
  const undo: (() => Promise<void>)[] = [() => services.close()];
  try {
    const { database, gateways } = services;
    const accounts = await createSoakAccounts(database, rounds);
    say(`${accounts.length} accounts, ${count} clients, logs in ${services.folder}`);
    const load = startClients({ gateways, accounts, count, dice: dice.fork() });
    const background = await startBackground(services, dice.fork());
    undo.push(() => background.close());
    const kills = await strike(services, options, dice.fork());
    const answered = load.stop();
    const backgroundDone = background.stop(options.drainSeconds);
    const drainMs = await drain(database, options.drainSeconds);
    say(`no call of a client is open after ${drainMs} ms`);
    await answered;
    // This comes before the wait for batches, because lost answers are recreated for five minutes only.
    const results = await collectResults(gateways, accounts, load.observations);
    say(`no batch and no delivery is open after ${await backgroundDone} ms`);
    const observations = [...load.observations, ...results];
    const faults = [
      ...services.surprises.map((sentence) => ({ promise: 'no process ends by itself', row: { sentence } })),
      ...(await auditLedger(database)),
      ...(await auditClients(database, observations)),
      ...(await background.audit()),
      ...results
        .filter(isUndelivered)
        .map((row) => ({ promise: 'every accepted job has a result', row: { ...row } })),
    ];
    const calls = await countCalls(database);
    for (const { row } of faults) addHistory(row, observations);
    return {
      sent: tally(observations),
      kills,
      calls,
      background: await background.counts(),
      drainMs,
      faults,
    };
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** Kills one process after the other, sometimes two at once, until each has been killed and the time is over. */
async function strike(
  services: SoakServices,
  { seconds, pauseMs, say }: SoakOptions,
  dice: Dice,
): Promise<Record<string, number>> {
  const kills: Record<string, number> = {};
  const startedAt = Date.now();
  const until = startedAt + seconds * 1000;
  let waiting: Victim[] = [];
  let everyVictimKilled = false;
  // Processes take seconds to start. Others may be killed meanwhile.
  const returning = new Map<string, Promise<void>>();
  while (Date.now() < until || !everyVictimKilled) {
    if (waiting.length === 0) waiting = dice.shuffle(VICTIMS);
    // Two entries of the same server cannot be killed together. Stores restart first, because the other processes need them.
    const victims = waiting.splice(0, dice.fraction() < 0.3 ? 2 : 1).filter(isFirstOfItsServer);
    everyVictimKilled ||= waiting.length === 0;
    await pause(dice.integer(200, pauseMs));
    for (const victim of victims) {
      await returning.get(serverOf(victim));
      kills[victim] = (kills[victim] ?? 0) + 1;
      await services.kill(victim);
    }
    say(`${((Date.now() - startedAt) / 1000).toFixed(1)} s: killed ${victims.join(' and ')}`);
    await pause(dice.integer(50, 1000));
    for (const victim of victims.sort(storesFirst)) {
      const back = services.restart(victim);
      // An unavailable store stops the service; an unavailable process does not.
      if (isStore(victim)) await back;
      else returning.set(serverOf(victim), back);
    }
  }
  await Promise.all(returning.values());
  return kills;
}

function isFirstOfItsServer(victim: Victim, i: number, victims: readonly Victim[]): boolean {
  return victims.findIndex((other) => serverOf(other) === serverOf(victim)) === i;
}

function serverOf(victim: Victim): string {
  return victim === 'forgetful redis' ? 'redis' : victim;
}

function storesFirst(a: Victim, b: Victim): number {
  return Number(isStore(b)) - Number(isStore(a));
}

function isStore(victim: Victim): boolean {
  return /redis|postgres/.test(victim);
}

/** Waits until no call of a client is open. @returns how long that took, or the limit. The audit reports calls that are still open then. */
async function drain(database: Database, limitSeconds: number): Promise<number> {
  const startedAt = Date.now();
  for (;;) {
    const open = await countOpen(database);
    const passedMs = Date.now() - startedAt;
    if (open === 0 || passedMs > limitSeconds * 1000) return passedMs;
    await pause(200);
  }
}

/** Adds the answers that the clients of a call received to the row of a fault, in order. */
function addHistory(row: Record<string, unknown>, observations: readonly Observation[]): void {
  const { jobId } = row;
  if (typeof jobId !== 'string') return;
  row.history = observations
    .filter((one) => one.jobId === jobId)
    .sort((a, b) => a.endedAt - b.endedAt)
    .map(({ sentAt, endedAt, said }) => `${time(sentAt)} to ${time(endedAt)}: ${said}`);
}

function time(ms: number): string {
  return new Date(ms).toISOString().slice(11, 23);
}

async function countOpen(database: Database): Promise<number> {
  const { rows } = await database.query<{ open: number }>(
    `select count(*) as open from calls c where state = 'reserved' and not exists (
       select 1 from batch_calls b where b.call_id = c.id)`,
  );
  return rows[0]?.open ?? 0;
}

async function countCalls(database: Database): Promise<Record<string, number>> {
  const { rows } = await database.query<{ state: string; calls: number }>(
    'select state, count(*)::integer as calls from calls group by state',
  );
  return Object.fromEntries(rows.map(({ state, calls }) => [state, calls]));
}

/** A result that was requested until the time limit, or that is no longer stored. */
function isUndelivered({ outcome }: Observation): boolean {
  return outcome === 'accepted' || outcome === 'refused';
}

function tally(observations: readonly Observation[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome, said } of observations) {
    const name = `${outcome}: ${said}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
