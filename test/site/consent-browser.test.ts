import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect } from 'vitest';
import { OPERATION_SCOPES } from '../../src/accounts/key-settings.ts';
import { expectUsable } from '../support/accessibility.ts';
import { describeInBrowser, faultsOf, type Page } from '../support/browser.ts';
import { PAGES, signedIn } from '../support/customer.ts';
import { ask, registerProgram } from '../support/oauth-program.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', ({ demo }) => ({ testUrl: demo.url, pages: { ...PAGES, signUpsPerHour: 100 } }));

/** The address with which a program asks, as it gives it to the browser. */
function askingAddress(baseUrl: string, clientId: string, redirectUri: string): string {
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    state: 'xyz',
    scope: ['read', ...OPERATION_SCOPES].join(' '),
  });
  return `${baseUrl}/oauth/authorize?${query}`;
}

describeInBrowser('in a browser', () => {
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close();
  });

  /** A program that listens on a loopback address. @returns the address to which browsers return. */
  async function listen(host: string): Promise<string> {
    const server = createServer((_request, reply) => {
      reply.setHeader('content-type', 'text/html');
      reply.end('<!doctype html><html lang="en"><title>Notebook</title><p>Return to Notebook.');
    });
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, host, resolve));
    const { port } = server.address() as AddressInfo;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}/callback`;
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  test('a new person signs up on the way, allows the program, and returns to it', async ({
    souk,
    openPage,
  }) => {
    const { baseUrl } = souk.clientOf('');
    const redirectUri = await listen('127.0.0.1');
    const { clientId } = await registerProgram(baseUrl, { redirect_uris: [redirectUri] });
    const page = await openPage();
    await page.goto(askingAddress(baseUrl, clientId, redirectUri));
    await expectUsable(page, 'consent-sign-in');
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('E-mail address').fill('walker@person.example');
    await page.getByLabel('Name or company').fill('Walker');
    await page.getByLabel('Password').fill('a long enough password');
    await button(page, 'Create account').click();
    await page.getByRole('heading', { name: 'Connect Notebook' }).waitFor();
    expect(await page.getByLabel('Data', { exact: true }).inputValue()).toBe('test');
    await expectUsable(page, 'consent-new-person');
    await button(page, 'Allow').click();
    await page.waitForURL(`${redirectUri}?**`);
    expect(await page.textContent('p')).toBe('Return to Notebook.');
    const returned = new URL(page.url()).searchParams;
    expect([returned.get('state'), returned.get('iss')]).toEqual(['xyz', baseUrl]);
    expect(returned.get('code')).toMatch(/^[\w-]{43}$/);
    expect(faultsOf(page).errors).toEqual([]);
  });

  test('the page shows faults, and Cancel returns to a program on the web with access_denied', async ({
    souk,
    openPage,
  }) => {
    const { baseUrl } = souk.clientOf('');
    const redirectUri = 'https://claude.ai/api/mcp/auth_callback';
    const { clientId } = await registerProgram(baseUrl, {
      redirect_uris: [redirectUri],
      client_name: 'Claude',
    });
    const { cookie } = await signedIn(souk);
    const page = await openPage({ session: cookie });
    await page.route('https://claude.ai/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Claude</title><p>Back' }),
    );
    await page.goto(askingAddress(baseUrl, clientId, redirectUri));
    await page.getByText('You return to claude.ai.').waitFor();
    await expectUsable(page, 'consent');
    await page.getByLabel('Units a day').fill('2000');
    await page.getByLabel('Look up data').uncheck();
    await page.getByLabel('Create batches').check();
    await button(page, 'Allow').click();
    await page.getByText('must not be more than the units of a month').waitFor();
    // The browser writes the status 400 to its console.
    expect(faultsOf(page).errors.splice(0)).toEqual([expect.stringContaining('400 (Bad Request)')]);
    await expectUsable(page, 'consent-faults');
    // A field that the browser itself would refuse.
    await page.getByLabel('Units a day').fill('');
    await button(page, 'Cancel').click();
    await page.waitForURL('https://claude.ai/**');
    const returned = new URL(page.url()).searchParams;
    expect([returned.get('error'), returned.get('state')]).toEqual(['access_denied', 'xyz']);
  });

  test('Allow returns to a program on the web, and to one on an IPv6 loopback address', async ({
    souk,
    openPage,
  }) => {
    const { baseUrl } = souk.clientOf('');
    const { cookie } = await signedIn(souk);
    const page = await openPage({ session: cookie });
    await page.route('https://claude.ai/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>Claude</title><p>Back' }),
    );
    for (const redirectUri of ['https://claude.ai/api/mcp/auth_callback', await listen('::1')]) {
      const { clientId } = await registerProgram(baseUrl, { redirect_uris: [redirectUri] });
      await page.goto(askingAddress(baseUrl, clientId, redirectUri));
      await button(page, 'Allow').click();
      await page.waitForURL(`${redirectUri.replace(/[[\]]/g, '*')}?**`);
      expect(new URL(page.url()).searchParams.get('code')).toMatch(/^[\w-]{43}$/);
    }
    // The addresses of the programs were requested on purpose.
    faultsOf(page).requests.splice(0);
    await page.goto('/account/keys');
    await expectUsable(page, 'account-keys-connections');
    await page.getByRole('link', { name: 'Notebook' }).first().click();
    await page.getByRole('heading', { name: 'Limits' }).waitFor();
    await expectUsable(page, 'account-connection');
    page.once('dialog', (dialog) => void dialog.accept());
    await button(page, 'Revoke').click();
    await page.getByText('Revoked').first().waitFor();
  });

  test('a viewer cannot connect a program, and sees what to do', async ({ souk, openPage }) => {
    const { baseUrl } = souk.clientOf('');
    const { cookie, accountId } = await signedIn(souk);
    await souk.database.query("update members set role = 'viewer' where account_id = $1", [accountId]);
    const redirectUri = await listen('127.0.0.1');
    const { clientId } = await registerProgram(baseUrl, { redirect_uris: [redirectUri] });
    const page = await openPage({ session: cookie });
    await page.goto(askingAddress(baseUrl, clientId, redirectUri));
    await page.getByText('You have no account to which you may connect programs').waitFor();
    await expectUsable(page, 'consent-no-account');
    await button(page, 'Cancel').click();
    await page.waitForURL(`${redirectUri}?error=access_denied**`);
  });

  test('a device is connected with its code, or by its complete address', async ({ souk, openPage }) => {
    const { baseUrl } = souk.clientOf('');
    const { cookie } = await signedIn(souk);
    const page = await openPage({ session: cookie });
    const begin = async () => {
      const form = new URLSearchParams({ client_id: 'souk-command', scope: 'read products' });
      return (await ask(`${baseUrl}/oauth/device`, form)).body;
    };
    await page.goto('/device');
    await page.getByLabel('Code').fill('WRONG-CODE');
    await button(page, 'Continue').click();
    await page.getByText('Unknown code.').waitFor();
    await expectUsable(page, 'device-code');
    await page.getByLabel('Code').fill((await begin()).user_code);
    await button(page, 'Continue').click();
    await page.getByRole('heading', { name: 'Is this your device?' }).waitFor();
    await expectUsable(page, 'device-confirm');
    await button(page, 'Cancel').click();
    await page.getByText('You have cancelled').waitFor();
    await page.goto((await begin()).verification_uri_complete);
    await page.getByRole('heading', { name: 'Is this your device?' }).waitFor();
    await button(page, 'Continue').click();
    await page.getByText('You return to your device.').waitFor();
    await button(page, 'Allow').click();
    await page.getByRole('heading', { name: 'Device connected' }).waitFor();
    await expectUsable(page, 'device-connected');
    await page.goto('/oauth/authorize?client_id=unknown&response_type=code');
    await page.getByText('The program is not registered here').waitFor();
    await page.getByRole('heading', { name: 'Program not connected' }).waitFor();
  });
});
