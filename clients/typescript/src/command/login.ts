import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Souk } from '../souk.ts';

/** The address of a service and the key of an account. */
export interface Login {
  baseUrl: string;
  apiKey: string;
}

/** Returns a client for the login of the environment, or the stored one. @throws if there is none. */
export function clientOf(env: NodeJS.ProcessEnv): Souk {
  const stored = readLogin(env);
  const baseUrl = env.SOUK_URL ?? stored?.baseUrl;
  const apiKey = env.SOUK_API_KEY ?? stored?.apiKey;
  if (!baseUrl || !apiKey) throw new Error('Run "souk-client login", or set SOUK_URL and SOUK_API_KEY.');
  return new Souk({ baseUrl, apiKey });
}

/** Checks a login and stores it, readable by its owner only. Returns the path of the file. */
export async function storeLogin(env: NodeJS.ProcessEnv, login: Login): Promise<string> {
  await new Souk(login).account.quota();
  const path = pathOf(env);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600 });
  // The mode above is that of a new file.
  chmodSync(path, 0o600);
  return path;
}

function readLogin(env: NodeJS.ProcessEnv): Login | null {
  try {
    return JSON.parse(readFileSync(pathOf(env), 'utf8')) as Login;
  } catch {
    return null;
  }
}

function pathOf(env: NodeJS.ProcessEnv): string {
  return join(env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'souk-client', 'login.json');
}
