// `npm run check`: checks format, lint, types and words concurrently. Prints the output of each tool, and fails if one of them fails.
import { spawn } from 'node:child_process';
import { getPriority, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { unplainWords } from './plain-english.mjs';

const root = dirname(import.meta.dirname);

const CHECKS = {
  format: ['biome', 'ci', '.'],
  lint: ['oxlint', '--type-aware', '--deny-warnings'],
  // Several checkers check the same types again, each for itself.
  types: ['tsc', '--project', '.', '--checkers', '1'],
};
/**
 * The tests run at the same time, so the checks save processor time: lint and types are programs in Go, which end before their
 * memory needs to be collected, and lint has one thread. They have a lower priority: the tests take
 * minutes longer, and leave enough processor time while they wait.
 */
const GO = { GOGC: 'off', GOMEMLIMIT: '3GiB' };
const LOWER_PRIORITY = 10;
const ENVIRONMENTS = { lint: { ...GO, GOMAXPROCS: '1' }, types: GO };

/** Runs every check. Returns the numbers of passed and failed checks. */
export async function check() {
  const words = checkWords();
  const tools = await Promise.all(Object.entries(CHECKS).map(([name, command]) => runCheck(name, command)));
  const results = [words, ...tools];
  const passed = results.filter(Boolean).length;
  return { passed, failed: results.length - passed };
}

/** Fails for words that docs/glossary.md has retired and for sentences without a subject; see scripts/plain-english.mjs. */
function checkWords() {
  const uses = unplainWords();
  for (const use of uses) console.log(use);
  console.log(`${uses.length === 0 ? 'ok    ' : 'FAILED'} words`);
  return uses.length === 0;
}

function runCheck(name, [tool, ...args]) {
  const child = spawn(join(root, 'node_modules', '.bin', tool), args, {
    cwd: root,
    env: { ...process.env, ...ENVIRONMENTS[name] },
  });
  // Its threads and processes inherit it. A program that could not be started has no id.
  if (child.pid !== undefined) setPriority(child.pid, Math.max(getPriority(), LOWER_PRIORITY));
  const output = [];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => output.push(chunk));
  child.on('error', (error) => output.push(Buffer.from(`${error.message}\n`)));
  return new Promise((resolve) => {
    child.on('close', (status) => {
      console.log(`${Buffer.concat(output).toString()}${status === 0 ? 'ok    ' : 'FAILED'} ${name}`);
      resolve(status === 0);
    });
  });
}

if (process.argv[1]?.endsWith('check.mjs')) {
  process.exit((await check()).failed === 0 ? 0 : 1);
}
