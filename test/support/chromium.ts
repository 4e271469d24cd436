import { access, mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { findCommand, hasCommand, run } from '../../src/platform/embedded/binaries.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const INSTALL_TIMEOUT_MS = 600_000;

/** A Chromium to run, or a sentence that says why there is none. */
export type Chromium = { command: string } | { missing: string };

/**
 * The Chromium that CHROMIUM_BIN names, one on PATH, or Debian's, which is installed if this process runs as root. Of several test
 * files that find none, one installs it and the others wait for that.
 */
export async function findChromium(): Promise<Chromium> {
  const named = process.env.CHROMIUM_BIN;
  if (named) {
    return access(named).then(
      () => ({ command: named }),
      () => ({ missing: `CHROMIUM_BIN names ${named}, which is not there` }),
    );
  }
  const present = await onPath();
  if (present) return { command: present };
  if (process.getuid?.() !== 0 || !(await hasCommand('apt-get')) || !(await hasCommand('flock'))) {
    const names = NAMES.join(', ');
    return {
      missing: `PATH has none of ${names}, and only root on Debian can have it installed by the tests`,
    };
  }
  return install();
}

async function onPath(): Promise<string | null> {
  for (const name of NAMES) {
    const command = await findCommand(name);
    if (command) return command;
  }
  return null;
}

async function install(): Promise<Chromium> {
  const tools = resolve('.souk/tools');
  await mkdir(tools, { recursive: true });
  // The second holder of the lock finds it installed.
  const script = `command -v chromium && exit 0
    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core`;
  try {
    await run('flock', [`${tools}/chromium.lock`, 'sh', '-c', script], {
      timeout: INSTALL_TIMEOUT_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  } catch (error) {
    const [reason = ''] = (error as Error).message.trim().split('\n').slice(-1);
    return { missing: `apt-get could not install chromium: ${reason}` };
  }
  const installed = await onPath();
  return installed
    ? { command: installed }
    : { missing: 'apt-get installed chromium, but PATH does not have it' };
}
