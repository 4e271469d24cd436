import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { EVEN_MIX, MOSTLY_CACHED_MIX } from '../test/support/soak/clients.ts';
import { soak } from '../test/support/soak/soak.ts';
import { FAIL_OVERS, LONG_ROUND, ROUND } from '../test/support/soak/strikes.ts';
import { buildPrograms } from './build.mjs';
import { printReport } from './print-report.ts';

const USAGE = `Usage: npm run soak -- [SEED] [SECONDS]
       npm run soak -- --standby [SEED] [SECONDS]
       npm run soak -- --calls N [--kills N] [--seed N] [--minutes N]`;

/**
 * Sends calls, batches and schedules to a whole service while its processes are killed, stopped and restarted, then checks the
 * ledger and that all work has been completed. The first two forms last for a time, the last one for a number of calls.
 */
function settings() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      calls: { type: 'string' },
      kills: { type: 'string' },
      seed: { type: 'string' },
      minutes: { type: 'string', default: '90' },
      standby: { type: 'boolean' },
    },
  });
  const seed = positive(values.seed ?? positionals[0] ?? String(randomInt(1, 2 ** 31)));
  const seconds = positive(positionals[1] ?? '120');
  if (values.standby) return forFailOvers(seed, seconds);
  if (values.calls === undefined) return forTime(seed, seconds);
  const calls = positive(values.calls);
  const strikes = positive(values.kills ?? String(Math.ceil(calls / 1_000)));
  return forCalls(seed, { calls, strikes, limitSeconds: positive(values.minutes) * 60 });
}

function forTime(seed: number, seconds: number) {
  // The pause is usually enough time for all processes to be running and busy again.
  const amount = { seconds, pauseMs: 12_000 };
  const load = { gateways: 2, clients: 24, mix: EVEN_MIX };
  return { seed, amount, ...load, plan: { round: ROUND, pairs: 0.3 }, again: `${seed} ${seconds}` };
}

/** PostgreSQL has a standby, which becomes the primary again and again. */
function forFailOvers(seed: number, seconds: number) {
  const amount = { seconds, pauseMs: 6_000 };
  const load = { gateways: 2, clients: 24, mix: EVEN_MIX, standby: true };
  return {
    seed,
    amount,
    ...load,
    plan: { round: FAIL_OVERS, pairs: 0 },
    again: `--standby ${seed} ${seconds}`,
  };
}

function forCalls(seed: number, amount: { calls: number; strikes: number; limitSeconds: number }) {
  const load = { gateways: 3, clients: 64, mix: MOSTLY_CACHED_MIX };
  const again = `--calls ${amount.calls} --kills ${amount.strikes} --seed ${seed}`;
  return { seed, amount, ...load, plan: { round: LONG_ROUND, pairs: 0.3 }, again };
}

function positive(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number <= 0) throw new Error(`${text} is not a positive integer`);
  return number;
}

function settingsOrExit() {
  try {
    return settings();
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exit(1);
  }
}

const { again, ...options } = settingsOrExit();
console.log(`To repeat: npm run soak -- ${again}`);
const programs = await buildPrograms();
const report = await soak({
  ...options,
  programs,
  rounds: 3,
  drainSeconds: 180,
  say: (line) => console.log(line),
});
printReport(report);
