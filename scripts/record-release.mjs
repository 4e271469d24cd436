import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Records what this release leaves in its stores, for the tests of later releases: see docs/operating/upgrade.md. */
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
execFileSync('npx', ['vitest', 'run', 'test/releases'], {
  stdio: 'inherit',
  env: { ...process.env, SOUK_RECORD_RELEASE: `${version}+${commit}` },
});
