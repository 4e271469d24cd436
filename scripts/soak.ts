import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { EVEN_MIX, MOSTLY_CACHED_MIX } from '../test/support/soak/clients.ts';
import { createDice } from '../test/support/soak/dice.ts';
import { judgeFile } from '../test/support/soak/judge/judge.ts';
import { type Amount, networkRoundOf, planStrikes, roundOf, type Strike } from '../test/support/soak/plan.ts';
import { record, today } from '../test/support/soak/records.ts';
import { shrink } from '../test/support/soak/shrink.ts';
import { type SoakOptions, soak } from '../test/support/soak/soak.ts';
import { buildPrograms } from './build.mjs';
import { printReport } from './print-report.ts';
import { soakPlanted } from './soak-planted.ts';

const USAGE = `Usage: npm run soak -- [TOPOLOGY] [SEED] [SECONDS]
       npm run soak -- [TOPOLOGY] --calls N [--kills N] [--seed N] [--minutes N]
       npm run soak -- --schedule FILE
       npm run soak -- --judge HISTORY
       npm run soak -- --planted [DEFECT ...]
TOPOLOGY: [--standby] [--cluster | --sentinel] [--providers N]
Others:   [--no-network] no faults of the network
          [--history FILE] keeps the history
          [--record] adds the result to the tables of docs/operating/reliability.md
          [--shrink N] runs at most N times to find which strikes a failure needs; default: 0`;

const number = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

/** Everything that a run depends on, as a schedule file has it. */
type Schedule = Pick<SoakOptions, 'seed' | 'amount' | 'topology' | 'clients'> & {
  mix: 'even' | 'cached';
  strikes: readonly Strike[];
};

function readArguments() {
  return parseArgs({
    allowPositionals: true,
    options: {
      ...{ calls: number, kills: number, seed: number, minutes: { ...number, default: '90' } },
      ...{ standby: flag, cluster: flag, sentinel: flag, providers: number, 'no-network': flag },
      ...{ schedule: number, judge: number, history: number, shrink: { ...number, default: '0' } },
      ...{ planted: flag, record: flag },
    },
  });
}

type Arguments = ReturnType<typeof readArguments>;

function planned({ values, positionals }: Arguments): Schedule {
  const seed = positive(values.seed ?? positionals[0] ?? String(randomInt(1, 2 ** 31)));
  const isLong = values.calls !== undefined;
  const redis = values.cluster ? ('cluster' as const) : values.sentinel ? ('sentinel' as const) : undefined;
  const topology = {
    gateways: isLong ? 3 : 2,
    standby: values.standby,
    redis,
    providers: positive(values.providers ?? '1'),
  };
  const network = values['no-network'] || isLong ? [] : networkRoundOf(topology);
  const amount = amountOf({ values, positionals });
  const strikes = planStrikes(createDice(seed), { round: roundOf(topology), network, pairs: 0.3, amount });
  return { seed, amount, topology, strikes, clients: isLong ? 64 : 24, mix: isLong ? 'cached' : 'even' };
}

function amountOf({ values, positionals }: Arguments): Amount {
  // The pause is usually enough time for all processes to be running and busy again.
  if (values.calls === undefined) return { seconds: positive(positionals[1] ?? '120'), pauseMs: 12_000 };
  const calls = positive(values.calls);
  const strikes = positive(values.kills ?? String(Math.ceil(calls / 1_000)));
  return { calls, strikes, limitSeconds: positive(values.minutes) * 60 };
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0) throw new Error(`${text} is not a positive integer`);
  return value;
}

function orExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exit(1);
  }
}

// Processes that a run has started end with this one.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

const given = orExit(readArguments);
const { values } = given;
if (values.judge !== undefined) {
  const { counts, faults } = await judgeFile(values.judge);
  process.exit(printReport({ counts, faults, strikes: {}, highest: {}, sent: 0, drainMs: 0 }) ? 0 : 1);
}
const programs = await buildPrograms();
if (values.planted) {
  const areFound = await soakPlanted(given.positionals, { programs, records: values.record === true });
  process.exit(areFound ? 0 : 1);
}
const schedule: Schedule = values.schedule
  ? JSON.parse(await readFile(values.schedule, 'utf8'))
  : orExit(() => planned(given));

/** Writes a schedule where `--schedule` finds it. @returns the path. */
async function save(strikes: readonly Strike[], name: string): Promise<string> {
  const file = `.souk/soak-${schedule.seed}${name}.json`;
  await writeFile(file, `${JSON.stringify({ ...schedule, strikes }, null, 1)}\n`);
  return file;
}

const run = (strikes: readonly Strike[], historyFile?: string) =>
  soak({
    ...schedule,
    ...{ strikes, programs, historyFile, rounds: 3, drainSeconds: 180 },
    mix: schedule.mix === 'even' ? EVEN_MIX : MOSTLY_CACHED_MIX,
    say: (line) => console.log(line),
  });

console.log(`To repeat: npm run soak -- --schedule ${await save(schedule.strikes, '')}`);
for (const { at, action, server, forMs } of schedule.strikes)
  console.log(`${at}: ${action} ${server} for ${forMs} ms`);
const report = await run(schedule.strikes, values.history);
const isFine = printReport(report);
if (values.record) {
  const { topology, amount, seed } = schedule;
  const { standby, redis } = topology;
  const form = [redis ?? 'one machine', standby ? 'with a standby' : ''].join(' ').trim();
  record({
    ...{ kind: 'run', day: today(), form, seed, seconds: 'seconds' in amount ? amount.seconds : null },
    ...{ requests: report.sent, charged: report.counts['calls charged'] ?? 0 },
    strikes: Object.values(report.strikes).reduce((sum, one) => sum + one, 0),
    faults: report.faults.length,
  });
}
const mostRuns = Number(values.shrink);
if (!isFine && mostRuns > 0) {
  const promises = new Set(report.faults.map(({ promise }) => promise));
  const fails = async (strikes: readonly Strike[]) =>
    (await run(strikes)).faults.some(({ promise }) => promises.has(promise));
  const needed = await shrink(schedule.strikes, fails, mostRuns);
  console.log(`${needed.length} strikes are enough: ${await save(needed, '-shrunk')}`);
  for (const strike of needed) console.log(JSON.stringify(strike));
}
process.exit(isFine ? 0 : 1);
