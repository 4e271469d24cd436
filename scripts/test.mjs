// `npm test`: runs all tests and the checks. With arguments, which are passed to vitest, it runs without the checks:
// npm test -- test/billing. Ends with a plain line: N passed, N failed, N skipped (each check counts as one).
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { check } from './check.mjs';

const root = dirname(import.meta.dirname);

const args = process.argv.slice(2);
if (args.length > 0) console.log('Format, lint, types and words are not checked: npm run check');
const [checks, tests] = await Promise.all([args.length > 0 ? { passed: 0, failed: 0 } : check(), test(args)]);
const failed = tests.failed + checks.failed;
console.log(`${tests.passed + checks.passed} passed, ${failed} failed, ${tests.skipped} skipped`);
process.exit(failed === 0 && tests.status === 0 ? 0 : 1);

async function test(args) {
  const folder = mkdtempSync(join(tmpdir(), 'souk-test-counts-'));
  const file = join(folder, 'counts.json');
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SOUK_TEST_COUNTS: file },
  });
  const status = await new Promise((resolve) => child.on('close', resolve));
  try {
    return { status, ...JSON.parse(readFileSync(file, 'utf8')) };
  } catch {
    // The run was interrupted before it wrote its result.
    return { status, passed: 0, failed: 1, skipped: 0 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
