import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EVEN_MIX } from '../test/support/soak/clients.ts';
import { soak } from '../test/support/soak/soak.ts';
import { MIXED_RELEASES, REPLACE_FIRST, REPLACE_LAST } from '../test/support/soak/strikes.ts';
import { buildPrograms } from './build.mjs';
import { printReport } from './print-report.ts';

const USAGE = 'Usage: npm run upgrade-test -- COMMIT [SEED] [SECONDS]';

/**
 * Upgrades a whole service of an earlier commit to this one under load: first the database, then one process after the other,
 * while processes and stores are killed. The commit must be in the history of this checkout.
 */
const [commit = '', seedText = String(randomInt(1, 2 ** 31)), secondsText = '90'] = process.argv.slice(2);
const [seed, seconds] = [Number(seedText), Number(secondsText)];
if (!isKnown(commit) || !Number.isSafeInteger(seed) || !(seconds > 0)) {
  console.error(
    `${commit || 'no commit'}, ${seedText}, ${secondsText}: not a commit of this checkout, or no numbers\n${USAGE}`,
  );
  process.exit(1);
}
console.log(`To repeat: npm run upgrade-test -- ${commit} ${seed} ${seconds}`);
const earlier = buildOf(commit);
const programs = await buildPrograms();
const report = await soak({
  ...{ programs, earlier, seed, gateways: 2, clients: 16, mix: EVEN_MIX, rounds: 2, drainSeconds: 180 },
  amount: { seconds, pauseMs: 6_000 },
  plan: { before: REPLACE_FIRST, round: MIXED_RELEASES, after: REPLACE_LAST, pairs: 0 },
  say: (line) => console.log(line),
});
printReport(report);

function isKnown(name: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${name}^{commit}`], { stdio: 'ignore' });
    return /^[\w.-]+$/.test(name);
  } catch {
    return false;
  }
}

/** Compiles the programs of a commit with its own script and the present packages. @returns their folder. */
function buildOf(name: string): string {
  const folder = resolve('.souk/releases', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  execFileSync('sh', ['-c', `git archive ${name} | tar -x -C ${folder}`]);
  if (!existsSync(join(folder, 'node_modules')))
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const script = `import { build } from './scripts/build.mjs'; await build('${join(folder, 'dist')}');`;
  execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, stdio: 'inherit' });
  return join(folder, 'dist');
}
