import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { renewTokens, revokeToken, type Tokens } from '../login.ts';
import { Souk } from '../souk.ts';
import { tokenFetch } from '../token-fetch.ts';
import { sleep } from '../transport.ts';

/** The address of a service, and the key of an account or the tokens of a connection. */
export type Login = { baseUrl: string } & ({ apiKey: string } | Tokens);

type SignedIn = { baseUrl: string } & Tokens;

const OLDEST_LOCK_MS = 30_000;
const LOCK_PAUSE_MS = 100;
const MOST_LOCK_PAUSES = 400;

/** Returns a client for the login of the environment, or the stored one. @throws if there is none. */
export function clientOf(env: NodeJS.ProcessEnv): Souk {
  const stored = readLogin(env);
  const baseUrl = env.SOUK_URL ?? stored?.baseUrl;
  if (baseUrl && env.SOUK_API_KEY) return new Souk({ baseUrl, apiKey: env.SOUK_API_KEY });
  if (!baseUrl || !stored) throw new Error('Run "souk-client login", or set SOUK_URL and SOUK_API_KEY.');
  if (withoutSlash(baseUrl) !== stored.baseUrl)
    throw new Error(
      `The stored login is one for ${stored.baseUrl}. Run "souk-client login --url ${baseUrl}", or set SOUK_API_KEY.`,
    );
  return clientFor(env, stored);
}

/** Checks a login and stores it, readable by its owner only. @returns the path of the file. */
export async function storeLogin(env: NodeJS.ProcessEnv, given: Login): Promise<string> {
  const login = { ...given, baseUrl: withoutSlash(given.baseUrl) };
  await clientFor(env, login).account.quota();
  return writeLogin(env, login);
}

/** Removes the stored login, and ends its connection. @returns what was removed; null: nothing. @throws if the connection remains. */
export async function removeLogin(env: NodeJS.ProcessEnv): Promise<'connection' | 'key' | null> {
  const stored = readLogin(env);
  if (!stored) return null;
  if ('refreshToken' in stored) await revokeToken(stored.baseUrl, stored.refreshToken);
  rmSync(pathOf(env), { force: true });
  return 'refreshToken' in stored ? 'connection' : 'key';
}

function clientFor(env: NodeJS.ProcessEnv, login: Login): Souk {
  if ('apiKey' in login) return new Souk(login);
  return new Souk({
    baseUrl: login.baseUrl,
    apiKey: login.accessToken,
    fetch: tokenFetch(login, (used) => renewed(env, used)),
  });
}

/** Renews tokens. Commands that run at the same time take turns, because a refresh token works once. */
async function renewed(env: NodeJS.ProcessEnv, used: SignedIn): Promise<SignedIn> {
  const unlock = await lock(`${pathOf(env)}.lock`);
  try {
    const stored = readLogin(env);
    const isRenewed =
      stored &&
      'accessToken' in stored &&
      stored.baseUrl === used.baseUrl &&
      stored.accessToken !== used.accessToken;
    if (isRenewed) return stored;
    const login = { baseUrl: used.baseUrl, ...(await renewTokens(used.baseUrl, used.refreshToken)) };
    writeLogin(env, login);
    return login;
  } finally {
    unlock();
  }
}

async function lock(path: string): Promise<() => void> {
  mkdirSync(dirname(path), { recursive: true });
  for (let pauses = 0; pauses < MOST_LOCK_PAUSES; pauses += 1) {
    try {
      closeSync(openSync(path, 'wx', 0o600));
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const { mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    // That of a command that was killed.
    if (mtimeMs > 0 && Date.now() - mtimeMs > OLDEST_LOCK_MS) rmSync(path, { force: true });
    else await sleep(LOCK_PAUSE_MS);
  }
  throw new Error(`${path} exists: another command renews the sign-in. Remove the file if none does.`);
}

function readLogin(env: NodeJS.ProcessEnv): Login | null {
  try {
    return JSON.parse(readFileSync(pathOf(env), 'utf8')) as Login;
  } catch {
    return null;
  }
}

function writeLogin(env: NodeJS.ProcessEnv, login: Login): string {
  const path = pathOf(env);
  const next = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(next, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  // The mode above is that of a new file.
  chmodSync(next, 0o600);
  // A command that reads meanwhile finds the old login or the new one.
  renameSync(next, path);
  return path;
}

function pathOf(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'souk-client', 'login.json');
}

function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}
