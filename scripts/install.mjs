// Installs the packages of package-lock.json if they are not installed yet. This script must not import any of them.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const OLDEST_NODE = [20, 19];

export function ensureInstalled() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    stop(`Souk requires Node ${OLDEST_NODE.join('.')} or later; this is ${process.versions.node}.`);
  }
  if (isInstalled()) return;
  console.log('Installing dependencies ...');
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
  // --include=dev, even with NODE_ENV=production, because checks and tests run from here.
  const { status } = spawnSync(command, [...args, 'ci', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) stop('Installing the dependencies failed.');
}

/** Looks for each package too, because `rm -r node_modules/*` leaves npm's own list of what is installed. */
function isInstalled() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return (
    existsSync(installed) &&
    statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs &&
    Object.keys({ ...dependencies, ...devDependencies }).every((name) =>
      existsSync(join(root, 'node_modules', name, 'package.json')),
    )
  );
}

function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}
