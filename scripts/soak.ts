import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { EVEN_MIX, MOSTLY_CACHED_MIX } from '../test/support/soak/clients.ts';
import { soak } from '../test/support/soak/soak.ts';
import { build } from './build.mjs';

const USAGE = `Usage: npm run soak -- [SEED] [SECONDS]
       npm run soak -- --calls N [--kills N] [--seed N] [--minutes N]`;

/**
 * Sends calls, batches and schedules to a whole service while its processes are killed, stopped and restarted, then checks the
 * ledger and that all work has been completed. The first form lasts for a time, the second one for a number of calls.
 */
function settings() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      calls: { type: 'string' },
      kills: { type: 'string' },
      seed: { type: 'string' },
      minutes: { type: 'string', default: '90' },
    },
  });
  const [seedText = values.seed ?? String(randomInt(2 ** 31)), secondsText = '120'] = positionals;
  const [seed, seconds, limitSeconds] = [seedText, secondsText, values.minutes].map(Number) as [
    number,
    number,
    number,
  ];
  const calls = Number(values.calls ?? 1);
  const strikes = Number(values.kills ?? Math.ceil(calls / 1000));
  if (![seed, calls, strikes].every(Number.isSafeInteger) || !(seconds > 0) || !(limitSeconds > 0))
    throw new Error();
  if (values.calls === undefined) {
    // The pause is usually enough time for all processes to be running and busy again.
    const amount = { seconds, pauseMs: 12_000 };
    return { ...{ seed, amount, gateways: 2, clients: 24, mix: EVEN_MIX }, again: `${seed} ${seconds}` };
  }
  const amount = { calls, strikes, limitSeconds: limitSeconds * 60 };
  const again = `--calls ${calls} --kills ${strikes} --seed ${seed}`;
  return { ...{ seed, amount, gateways: 3, clients: 64, mix: MOSTLY_CACHED_MIX }, again };
}

function settingsOrExit() {
  try {
    return settings();
  } catch {
    console.error(USAGE);
    process.exit(1);
  }
}

const { again, ...options } = settingsOrExit();
console.log(`To repeat: npm run soak -- ${again}`);
const programs = resolve('dist');
await build(programs);
const report = await soak({
  ...{ ...options, programs, rounds: 3, drainSeconds: 180 },
  say: (line) => console.log(line),
});
const { sent, strikes, calls, background, highest, drainMs, faults } = report;
for (const table of [sent, strikes, background, highest]) console.table(table);
console.table({ ...calls, 'ms until all had ended': drainMs, faults: faults.length });
const SHOWN_EACH = 5;
for (const promise of new Set(faults.map((fault) => fault.promise))) {
  const rows = faults.filter((fault) => fault.promise === promise).map(({ row }) => row);
  console.error(`BROKEN, ${rows.length} times: ${promise}`);
  for (const row of rows.slice(0, SHOWN_EACH)) console.error(row);
}
process.exit(faults.length === 0 ? 0 : 1);
