// `npm run check`: format, lint and types. Prints what each tool has to say and fails when one of them does.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ensureInstalled, root } from './install.mjs';

const CHECKS = {
  format: ['biome', 'ci', '.'],
  lint: ['oxlint', '--type-aware', '--deny-warnings'],
  types: ['tsc', '--project', '.'],
};

/** How many checks passed and failed. */
export function check() {
  const counts = { passed: 0, failed: 0 };
  for (const [name, [tool, ...args]] of Object.entries(CHECKS)) {
    const { status } = spawnSync(join(root, 'node_modules', '.bin', tool), args, {
      cwd: root,
      stdio: 'inherit',
    });
    console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name}`);
    counts[status === 0 ? 'passed' : 'failed'] += 1;
  }
  return counts;
}

if (process.argv[1]?.endsWith('check.mjs')) {
  ensureInstalled();
  process.exit(check().failed === 0 ? 0 : 1);
}
