import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/pool.ts';
import { createSoakAccounts } from './accounts.ts';
import { startBackground } from './background.ts';
import { addHistory, auditClients, tally } from './client-audit.ts';
import { type Mix, type SoakLoad, startClients } from './clients.ts';
import { collectResults } from './collect.ts';
import { createDice } from './dice.ts';
import { auditLedger, type Fault } from './ledger-audit.ts';
import { createMonitor, type Monitor } from './monitor.ts';
import { openObservationLog } from './observations.ts';
import { type Amount, paceOf } from './pace.ts';
import { openSoakServices } from './services.ts';
import { type StrikePlan, strike } from './strikes.ts';

export interface SoakOptions {
  /** Determines the requests and the strikes. Their timing also depends on the machine. */
  seed: number;
  amount: Amount;
  /** Folder of the compiled programs. */
  programs: string;
  gateways: number;
  /** Whether PostgreSQL has a standby. */
  standby?: boolean | undefined;
  plan: StrikePlan;
  clients: number;
  mix: Mix;
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
  strikes: Record<string, number>;
  calls: Record<string, number>;
  /** Batches, items, runs of schedules, deliveries. */
  background: Record<string, number>;
  /** The highest sizes of processes and tables, in MiB. */
  highest: Record<string, number>;
  /** The time until all calls of clients had ended. */
  drainMs: number;
  faults: Fault[];
}

const PROGRESS_EVERY_MS = 30_000;

/** How many faults of a rule are reported with all answers of their call. */
const HISTORIES = 5;

/** Kills and stops the processes of a service under load, one or two at a time, and restarts them; then checks every unit. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { amount, rounds, clients: count, mix, drainSeconds } = options;
  const dice = createDice(options.seed);
  const startedAt = Date.now();
  const say = (line: string) => options.say(`${((Date.now() - startedAt) / 1000).toFixed(1)} s: ${line}`);
  const services = await openSoakServices(options);
  const undo: (() => Promise<void>)[] = [() => services.close()];
  try {
    const { database, gateways } = services;
    const accounts = await createSoakAccounts(database, rounds);
    say(`${accounts.length} accounts, ${count} clients, logs in ${services.folder}`);
    const log = openObservationLog(join(services.folder, 'observations'));
    const load = startClients({ gateways, accounts, count, mix, dice: dice.fork(), log });
    const background = await startBackground(services, dice.fork());
    undo.push(() => background.close());
    const monitor = createMonitor(services);
    const stopReporting = reportProgress(load, monitor, say);
    undo.push(stopReporting);

    const strikeDice = dice.fork();
    const pace = paceOf(amount, load, strikeDice);
    const strikes = await strike(services, { ...options.plan, pace, dice: strikeDice, say });
    const answered = load.stop();
    const backgroundDone = background.stop(drainSeconds);
    const drainMs = await drain(database, drainSeconds);
    say(`no call of a client is open after ${drainMs} ms`);
    await answered;
    await stopReporting();
    await log.store(database);
    await collectResults(database, gateways, accounts, log);
    await log.store(database);
    say(`no batch and no delivery is open after ${await backgroundDone} ms; ${await monitor.look()}`);

    const faults = [
      ...services.surprises.map((sentence) => ({ promise: 'no process ends by itself', row: { sentence } })),
      ...unfinished(amount, load.sent, strikes),
      ...(await auditLedger(database)),
      ...(await auditClients(database)),
      ...(await background.audit()),
      ...monitor.audit(),
    ];
    for (const [i, { promise, row }] of faults.entries()) {
      const isShown = faults.slice(0, i).filter((other) => other.promise === promise).length < HISTORIES;
      if (isShown) await addHistory(database, row);
    }
    const calls = await countCalls(database);
    const { highest } = monitor;
    return {
      sent: await tally(database),
      strikes,
      calls,
      highest,
      drainMs,
      faults,
      background: await background.counts(),
    };
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/** Reports the speed, memory and table sizes periodically. @returns a function that stops it. */
function reportProgress(load: SoakLoad, monitor: Monitor, say: (line: string) => void): () => Promise<void> {
  let before = load.sent;
  let looking = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(async () => {
      const sizes = await monitor.look();
      const perSecond = Math.round(((load.sent - before) * 1000) / PROGRESS_EVERY_MS);
      before = load.sent;
      say(`${load.sent} calls, ${perSecond} calls/s; MiB: ${sizes}`);
    });
  }, PROGRESS_EVERY_MS);
  return () => {
    clearInterval(timer);
    return looking;
  };
}

function unfinished(amount: Amount, sent: number, strikes: Record<string, number>): Fault[] {
  if ('seconds' in amount) return [];
  const struck = Object.values(strikes).reduce((sum, one) => sum + one, 0);
  if (sent >= amount.calls && struck >= amount.strikes) return [];
  return [
    { promise: 'the run sends all calls and makes all strikes in time', row: { ...amount, sent, struck } },
  ];
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
