// `npm test`: the checks, then every test. Arguments go to vitest: npm test -- test/billing
// Ends with a plain line: N passed, N failed, N skipped (each check counts as one).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './check.mjs';
import { ensureInstalled, root } from './install.mjs';

ensureInstalled();
const checks = check();
const folder = mkdtempSync(join(tmpdir(), 'souk-test-counts-'));
const file = join(folder, 'counts.json');
const { status } = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit', env: { ...process.env, SOUK_TEST_COUNTS: file } },
);
const tests = readCounts();
rmSync(folder, { recursive: true, force: true });
const failed = tests.failed + checks.failed;
console.log(`${tests.passed + checks.passed} passed, ${failed} failed, ${tests.skipped} skipped`);
process.exit(failed === 0 && status === 0 ? 0 : 1);

function readCounts() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // The run broke off before it could count.
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
