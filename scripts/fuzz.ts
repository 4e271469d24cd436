import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { fuzz } from '../test/support/fuzz/fuzz.ts';
import { openOwnServers } from '../test/support/own-servers.ts';
import { openTarget } from '../test/support/target.ts';
import { unlimited } from '../test/support/unlimited.ts';
import { buildPrograms } from './build.mjs';

/**
 * `npm run fuzz [SEED] [COUNT]`: sends mutated requests to a whole service, and fails if one of them gets a 5xx, a slow
 * answer, or units charged for a refusal, or ends a process. `--quiet`, on a machine that nothing else uses: sends one request after
 * the other, and an answer is slow after 100 ms.
 */
const { values, positionals } = parseArgs({
  options: { quiet: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [seedText, countText = '100000'] = positionals;
const [seed, count] = [Number(seedText ?? randomInt(2 ** 30)), Number(countText)];
const pace = values.quiet ? { clients: 1, slowMs: 100 } : { clients: 12, slowMs: 1_000 };
if (!Number.isSafeInteger(seed) || !(count > 0)) {
  console.error('Usage: npm run fuzz -- [--quiet] [SEED] [COUNT]');
  process.exit(1);
}

console.log(`Seed ${seed}. To repeat: npm run fuzz -- ${seed} ${count}`);
const programs = await buildPrograms();
const servers = await openOwnServers();
const startedAt = performance.now();
try {
  const target = await openTarget({ programs, ...servers, env: unlimited() });
  try {
    const say = (line: string) =>
      console.log(`${((performance.now() - startedAt) / 1000).toFixed(0)} s: ${line}`);
    const options = { seeds: [seed], count, pages: 150, ...pace, timesBaseline: 1, say };
    const { answers, slowestMs, faults } = await fuzz(target, options);
    console.table(answers);
    console.log(`Slowest answer: ${Math.round(slowestMs)} ms. Faults: ${faults.length}.`);
    for (const { promise, index, request, answer } of faults)
      console.error(`BROKEN: ${promise}\n  request ${index}: ${request}\n  answer: ${answer}`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    await target.close();
  }
} finally {
  await servers.close();
}
