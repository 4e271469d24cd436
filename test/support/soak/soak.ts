import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/pool.ts';
import { createSoakAccounts } from './accounts.ts';
import { startBackground } from './background.ts';
import { type Mix, type SoakLoad, startClients } from './clients.ts';
import { createDice, type Dice } from './dice.ts';
import { readFinalState } from './final.ts';
import { openHistory } from './history-file.ts';
import type { Fault } from './judge/books.ts';
import type { Granted } from './judge/history.ts';
import { judgeFile } from './judge/judge.ts';
import { createMonitor, type Monitor } from './monitor.ts';
import type { Amount, Strike, Topology } from './plan.ts';
import { openSoakServices } from './services.ts';
import { strike } from './strikes.ts';

export interface SoakOptions {
  /** Determines the requests. Their timing also depends on the machine. */
  seed: number;
  amount: Amount;
  /** Folder of the compiled programs. */
  programs: string;
  topology: Topology;
  /** Statements that change the functions of the database first. */
  sql?: readonly string[] | undefined;
  strikes: readonly Strike[];
  clients: number;
  mix: Mix;
  /** How many accounts of each kind. */
  rounds: number;
  /** How long calls may stay open after the last was sent. */
  drainSeconds: number;
  /** Where the history is kept. Default: it is deleted with the logs. */
  historyFile?: string | undefined;
  /** Receives progress messages. */
  say(line: string): void;
}

export interface SoakReport {
  /** The number of answers, batches, runs, deliveries and calls of each kind. */
  counts: Record<string, number>;
  strikes: Record<string, number>;
  /** The highest sizes of processes and tables, in MiB. */
  highest: Record<string, number>;
  sent: number;
  /** The time until all calls of clients had ended. */
  drainMs: number;
  faults: Fault[];
}

const PROGRESS_EVERY_MS = 30_000;

/** Kills, stops and disconnects the processes of a service under load; then the judge reads what the clients have written down. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { amount, rounds, clients: count, mix, drainSeconds } = options;
  const dice = createDice(options.seed);
  const window = drawWindow(dice, Date.now());
  const startedAt = Date.now();
  const say = (line: string) => options.say(`${((Date.now() - startedAt) / 1000).toFixed(1)} s: ${line}`);
  const services = await openSoakServices({ ...options, window });
  const undo: (() => Promise<void>)[] = [() => services.close()];
  try {
    const { database, gateways } = services;
    for (const text of options.sql ?? []) await database.query(text);
    const history = openHistory(options.historyFile ?? join(services.folder, 'history.jsonl'));
    const accounts = await createSoakAccounts(database, history, { rounds, window });
    say(`${accounts.length} accounts, ${count} clients, logs in ${services.folder}`);
    const about = { dice: dice.fork(), history, window, callers: accounts };
    const background = await startBackground(services, about);
    undo.push(() => background.close());
    const { urlOf: webhookOf } = background.receiver;
    const load = startClients({ ...about, dice: dice.fork(), gateways, accounts, count, mix, webhookOf });
    const monitor = createMonitor(services);
    const stopReporting = reportProgress(load, monitor, say);
    undo.push(stopReporting);

    const onKilled = (server: string) => {
      if (server === 'postgres' && options.topology.standby)
        history.note({ kind: 'fail-over', at: Date.now() });
    };
    const strikes = await strike(services, options.strikes, { amount, sent: () => load.sent, say, onKilled });
    const answered = load.stop();
    const backgroundDone = background.stop(drainSeconds);
    const drainMs = await drain(database, drainSeconds);
    say(`no call of a client is open after ${drainMs} ms`);
    await answered;
    await stopReporting();
    say(`no batch and no delivery is open after ${await backgroundDone} ms; ${await monitor.look()}`);
    const { scheduleIds } = background;
    const all = [...accounts, ...background.accounts];
    await readFinalState({ gateways, accounts: all, scheduleIds, jobs: load.jobs, history });
    await history.close();

    const { counts, faults } = await judgeFile(history.file);
    faults.push(
      ...services.surprises.map((sentence) => ({ promise: 'no process ends by itself', row: { sentence } })),
      ...unfinished(amount, load.sent, strikes),
      ...monitor.audit(),
    );
    return { counts, strikes, highest: monitor.highest, sent: load.sent, drainMs, faults };
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

const HOUR_MS = 3_600_000;

/** A zone whose offset is no full hour. */
const TIMEZONE = 'Asia/Kathmandu';

/** Off-peak hours that are open during the run, or open or close in its first minute. */
function drawWindow(dice: Dice, now: number): Granted['window'] {
  // Hours have whole minutes, so this is the end of the present minute.
  const soon = 60_000;
  const [from, to] = dice.pick([
    [-HOUR_MS, HOUR_MS],
    [-HOUR_MS, soon],
    [soon, HOUR_MS],
  ]) as [number, number];
  const local = (ms: number) =>
    new Date(now + ms).toLocaleTimeString('en-GB', { timeZone: TIMEZONE }).slice(0, 5);
  return { start: local(from), end: local(to), timezone: TIMEZONE };
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

/** Waits until no call of a client is open. @returns how long that took, or the limit. The judge finds calls that are still open then. */
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
