// `npm test`: the checks, then every test. Arguments go to vitest: npm test -- test/billing
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { check } from './check.mjs';
import { ensureInstalled, root } from './install.mjs';

ensureInstalled();
const checked = check();
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
process.exit(checked && status === 0 ? 0 : 1);
