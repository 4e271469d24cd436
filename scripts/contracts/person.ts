import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import pRetry from 'p-retry';
import { beginSession, SESSION_COOKIE } from '../../src/accounts/sessions.ts';
import { ownerOf } from '../../test/support/customer.ts';
import { ALLOWED, programOf } from '../../test/support/oauth-program.ts';
import { createVisitor } from '../../test/support/visitor.ts';
import type { Service } from './tool.ts';

/** A person with a browser, who allows what programs ask for. */
export interface Person {
  /** For programs that open addresses in the browser. */
  env: Record<string, string>;
  /** Where a program may send the address that it wants to open; the answer is the address to which the browser returns. */
  address: string;
  /** Opens the address of an authorization, and allows it. @returns the address to which the browser returns. */
  allow(address: string): Promise<URL>;
  close(): Promise<void>;
}

const RETURN = { retries: 50, minTimeout: 200, factor: 1 };

/** @param folder of the programs, which store there what they store in the home of their user. */
export async function openPerson(folder: string, { url, database, accountId }: Service): Promise<Person> {
  const personId = await ownerOf(database, accountId);
  const visitor = createVisitor(url);
  visitor.cookies.set(SESSION_COOKIE, await beginSession(database, { personId }, Date.now()));
  const allow = async (address: string): Promise<URL> => {
    const { pathname, search } = new URL(address);
    const page = await visitor.get(`${pathname}${search}`);
    return programOf(url, '').decide(visitor, page, { ...ALLOWED, account: String(accountId) });
  };
  const server = createServer((request, reply) => {
    const { searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
    const asked = allow(searchParams.get('open') ?? '');
    asked
      .then(async (returned) => {
        // A program may open the browser before it listens for its return.
        if (searchParams.has('return')) await pRetry(() => fetch(returned), RETURN);
        reply.end(returned.href);
      })
      .catch((error: Error) => reply.writeHead(500).end(error.message));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address,
    env: environment(folder, address),
    allow,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Makes a command that opens addresses with the browser of the person, under the name of the command of desktops. */
function environment(folder: string, address: string): Record<string, string> {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const command = join(bin, 'xdg-open');
  const open = `fetch('${address}/?return=1&open=' + encodeURIComponent(process.argv[1])).then((answer) => answer.text())`;
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' -e "${open}" "$1"\n`);
  chmodSync(command, 0o755);
  return {
    HOME: folder,
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), '.npm'),
    PATH: `${bin}:${process.env.PATH ?? ''}`,
    BROWSER: command,
  };
}
