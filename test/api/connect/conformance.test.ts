import { expect } from 'vitest';
import { freePort } from '../../../src/platform/embedded/server-process.ts';
import { signedIn } from '../../support/customer.ts';
import { ALLOWED, ask, registerProgram } from '../../support/oauth-program.ts';
import { checksOf, expectComplete, expectPassed, REVISIONS } from '../../support/protocol-suite.ts';
import { test } from '../../support/shared-souk-test.ts';
import { words } from '../../support/words.ts';

// Results of the authorization server scenarios of the public conformance suite of the Model Context Protocol.

const SCENARIOS = words('authorization-server-metadata-endpoint authorization-code-grant');

test('the list here has every authorization server scenario of the suite', () =>
  expectComplete('Authorization server', SCENARIOS));

test.for(REVISIONS)(
  'the authorization server passes all scenarios of revision %s',
  async (revision, { souk }) => {
    const { baseUrl } = souk.clientOf('');
    const { visitor, accountId } = await signedIn(souk);
    const port = await freePort();
    const program = await registerProgram(baseUrl, { redirect_uris: [`http://127.0.0.1:${port}/callback`] });
    const visits: Promise<void>[] = [];
    // The suite prints the address that a person has to open, and waits.
    const openPrinted = (printed: string): void => {
      const [, path] = /^http:\/\/[^/\s]+(\/oauth\/authorize\?\S+)\n/m.exec(printed) ?? [];
      if (path && visits.length === 0) visits.push(open(path));
    };
    const open = async (path: string): Promise<void> => {
      const fields = { ...ALLOWED, account: String(accountId) };
      await ask((await program.decide(visitor, await visitor.get(path), fields)).href);
    };
    const command = ['authorization', '--url', baseUrl, '--spec-version', revision];
    const client = ['--client-id', program.clientId, '--port', String(port)];
    const checks = await checksOf([...command, ...client], openPrinted);
    await Promise.all(visits);
    for (const scenario of SCENARIOS) expectPassed(checks.get(scenario));
    expect(visits).toHaveLength(1);
  },
);
