import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { soak } from '../test/support/soak/soak.ts';
import { build } from './build.mjs';

/**
 * `npm run soak [SEED] [SECONDS]`: sends calls, batches and schedules to a whole service while its processes are killed and
 * restarted, then checks the ledger and that all work has been completed. SOAK_SEED and SOAK_SECONDS set the same values.
 */
const [seedText = process.env.SOAK_SEED, secondsText = process.env.SOAK_SECONDS ?? '120'] =
  process.argv.slice(2);
const [seed, seconds] = [Number(seedText ?? randomInt(2 ** 31)), Number(secondsText)];
if (!Number.isSafeInteger(seed) || !(seconds > 0)) {
  console.error('Usage: npm run soak -- [SEED] [SECONDS]');
  process.exit(1);
}

console.log(`Seed ${seed}. To repeat: npm run soak -- ${seed} ${seconds}`);
const programs = resolve('dist');
await build(programs);
const report = await soak({
  programs,
  seed,
  seconds,
  // Usually enough time for all processes to be running and busy again.
  pauseMs: 12_000,
  clients: 24,
  rounds: 3,
  drainSeconds: 180,
  say: (line) => console.log(line),
});
const { sent, kills, calls, background, drainMs, faults } = report;
console.table({ ...sent });
console.table(kills);
console.table(background);
console.table({ ...calls, 'ms until all had ended': drainMs, faults: faults.length });
const SHOWN_EACH = 5;
for (const promise of new Set(faults.map((fault) => fault.promise))) {
  const rows = faults.filter((fault) => fault.promise === promise).map(({ row }) => row);
  console.error(`BROKEN, ${rows.length} times: ${promise}`);
  for (const row of rows.slice(0, SHOWN_EACH)) console.error(row);
}
process.exit(faults.length === 0 ? 0 : 1);
