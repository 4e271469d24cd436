import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { login } from '../login.ts';
import { removeLogin, storeLogin } from './login.ts';
import type { Terminal } from './program.ts';

/** Adds the commands that store and remove a login. */
export function addLogin(program: Command, { env, write, signal, ...terminal }: Terminal): void {
  program
    .command('login')
    .description('Signs in through a browser, or stores a key.')
    .option('--url <address>', 'address of the service')
    .option('--key [key]', 'stores a key of the account instead; without a value the command asks for it')
    .action(async ({ url, key }: { url?: string; key?: string | true }) => {
      const baseUrl = (url ?? env.SOUK_URL ?? (await ask('Address: '))).replace(/\/+$/, '');
      const onCode = ({ address, code }: { address: string; code: string }) =>
        write(`Open ${address}\nand compare the code: ${code}\n`);
      const secret = key
        ? { apiKey: key === true ? await ask('Key: ') : key }
        : await login({ baseUrl, onCode, signal, sleep: terminal.sleep });
      write(`Stored in ${await storeLogin(env, { baseUrl, ...secret })}\n`);
      if (env.SOUK_API_KEY) write('The commands use SOUK_API_KEY instead, as long as it is set.\n');
    });

  program
    .command('logout')
    .description('Removes the stored login, and ends its connection.')
    .action(async () => write(REMOVED[(await removeLogin(env)) ?? 'nothing']));
}

const REMOVED = {
  connection: 'Signed out. The connection has ended.\n',
  key: 'Removed the stored key. It still works; revoke it on the page Keys of the account.\n',
  nothing: 'There is no stored login.\n',
} as const;

async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(question)).trim();
  } finally {
    terminal.close();
  }
}
