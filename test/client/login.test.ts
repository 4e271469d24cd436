import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createProgram } from '../../clients/typescript/src/command/program.ts';
import { login, revokeToken, Souk, type Tokens } from '../../clients/typescript/src/index.ts';
import { tokenFetch } from '../../clients/typescript/src/token-fetch.ts';
import { type Customer, signedIn } from '../support/customer.ts';
import { allowDevice } from '../support/device-person.ts';
import { test as withService } from '../support/souk-test.ts';

/** A user of the command, with a configuration folder. */
interface User {
  env: NodeJS.ProcessEnv;
  /** What was printed. */
  printed: string[];
  /** Pauses of the command. */
  pauses: number[];
  /** Runs the command. @param person acts while the command waits. */
  run(words: string, person?: () => Promise<unknown>): Promise<void>;
  /** The address that the command shows. */
  address(): string;
  file: string;
  stored(): Record<string, string>;
}

const test = withService
  .extend('baseUrl', ({ souk }) => souk.clientOf('').baseUrl)
  .extend('user', ({ baseUrl: _ }): User => newUser());

function newUser(): User {
  const folder = mkdtempSync(join(tmpdir(), 'souk-login-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env: NodeJS.ProcessEnv = { XDG_CONFIG_HOME: folder };
  const [printed, pauses]: [string[], number[]] = [[], []];
  const file = join(folder, 'souk-client', 'login.json');
  return {
    env,
    printed,
    pauses,
    file,
    async run(words, person = async () => {}) {
      const terminal = {
        env,
        write: (text: string | Uint8Array) => void printed.push(String(text)),
        signal: new AbortController().signal,
        async sleep(ms: number) {
          pauses.push(ms);
          await person();
        },
      };
      await createProgram(terminal).exitOverride().parseAsync(words.split(' '), { from: 'user' });
    },
    address: () => /Open (\S+)/.exec(printed.join(''))?.[1] ?? '',
    stored: () => JSON.parse(readFileSync(file, 'utf8')),
  };
}

/** Signs a user in as a customer. */
async function signIn(user: User, baseUrl: string, { visitor, accountId }: Customer): Promise<void> {
  await user.run(`login --url ${baseUrl}`, () =>
    allowDevice(visitor, user.address(), { account: String(accountId) }),
  );
}

test('a person who compares the code and allows it is signed in, and calls work', async ({
  souk,
  baseUrl,
  user,
}) => {
  const customer = await signedIn(souk);
  let asked = 0;
  await user.run(`login --url ${baseUrl}/`, async () => {
    asked += 1;
    // The command waits until the person decides.
    if (asked < 3) return;
    await allowDevice(customer.visitor, user.address(), { account: String(customer.accountId) });
  });
  expect(user.pauses).toEqual([5_000, 5_000, 5_000]);
  expect(user.printed[0]).toMatch(/^Open http:\S+\/device\?user_code=(\S+)\nand compare the code: \1\n$/);
  expect(user.printed[1]).toBe(`Stored in ${user.file}\n`);
  expect(statSync(user.file).mode & 0o777).toBe(0o600);
  await user.run('quota --output json');
  expect(user.printed.at(-1)).toContain('nextCallRejectReason');
});

test('a person who refuses leaves the command without a login', async ({ souk, baseUrl, user }) => {
  const { visitor, accountId } = await signedIn(souk);
  const refused = user.run(`login --url ${baseUrl}`, () =>
    allowDevice(visitor, user.address(), { account: String(accountId), decision: 'deny' }),
  );
  await expect(refused).rejects.toThrow('The sign-in was refused in the browser.');
  await expect(user.run('quota')).rejects.toThrow('Run "souk-client login"');
});

test('a code that is not entered in time expires', async ({ ownSouk, user }) => {
  const { baseUrl } = ownSouk.clientOf('');
  const waiting = user.run(`login --url ${baseUrl}`, async () => ownSouk.clock.advance(60_000));
  await expect(waiting).rejects.toThrow('The code has expired. Run the same command again.');
  expect(user.pauses.length).toBeLessThan(15);
});

test('a token that has expired is renewed, once for several calls at the same time', async ({
  ownSouk,
  user,
}) => {
  const { baseUrl } = ownSouk.clientOf('');
  await signIn(user, baseUrl, await signedIn(ownSouk));
  const before = user.stored();
  ownSouk.clock.advance(3_700_000);
  await Promise.all([user.run('quota'), user.run('quota'), user.run('jobs')]);
  expect(user.stored().refreshToken).not.toBe(before.refreshToken);
  expect(statSync(user.file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(user.file, '..'))).toEqual(['login.json']);
  await user.run('quota');
});

test('logout ends the connection, and later calls ask to sign in', async ({ souk, baseUrl, user }) => {
  const customer = await signedIn(souk);
  await signIn(user, baseUrl, customer);
  const { accessToken } = user.stored();
  const tokens = readFileSync(user.file, 'utf8');
  await user.run('logout');
  expect(user.printed.at(-1)).toBe('Signed out. The connection has ended.\n');
  expect((await souk.clientOf(accessToken ?? '').get('/api/quota')).status).toBe(401);
  await expect(user.run('quota')).rejects.toThrow('Run "souk-client login"');
  // A copy of the file does not help.
  writeFileSync(user.file, tokens);
  await expect(user.run('quota')).rejects.toThrow('Your sign-in has ended. Run "souk-client login" again.');
});

test('SOUK_API_KEY wins over the stored login', async ({ souk, baseUrl, user }) => {
  await signIn(user, baseUrl, await signedIn(souk));
  user.env.SOUK_API_KEY = `km_${'0'.repeat(32)}`;
  await expect(user.run('quota')).rejects.toMatchObject({ code: '4001', status: 401 });
  user.env.SOUK_API_KEY = (await souk.account()).key;
  await user.run('quota');
});

test('the tokens of a service are not sent to another one', async ({ souk, baseUrl, user }) => {
  await signIn(user, baseUrl, await signedIn(souk));
  user.env.SOUK_URL = 'http://127.0.0.1:9';
  await expect(user.run('quota')).rejects.toThrow(
    `The stored login is one for ${baseUrl}. Run "souk-client login --url http://127.0.0.1:9", or set SOUK_API_KEY.`,
  );
});

test('a key is stored and removed', async ({ souk, baseUrl, user }) => {
  const { key } = await souk.account();
  await user.run(`login --url ${baseUrl} --key ${key}`);
  await user.run('quota');
  await user.run('logout');
  expect(user.printed.at(-1)).toContain('It still works');
  await user.run('logout');
  expect(user.printed.at(-1)).toBe('There is no stored login.\n');
});

test('a service without an authorization server, and one that is away, are named', async ({ user }) => {
  await expect(user.run('login --url http://127.0.0.1:9')).rejects.toThrow(
    'http://127.0.0.1:9 cannot be reached',
  );
});

test('a program signs in without a file, and receives the renewed tokens', async ({ ownSouk }) => {
  const { baseUrl } = ownSouk.clientOf('');
  const customer = await signedIn(ownSouk);
  const shown: { address: string; code: string }[] = [];
  const tokens = await login({
    baseUrl,
    onCode: (code) => void shown.push(code),
    sleep: async () => {
      await allowDevice(customer.visitor, shown[0]?.address ?? '', { account: String(customer.accountId) });
    },
  });
  expect(shown[0]?.address).toContain(shown[0]?.code);
  const kept: Tokens[] = [];
  const api = new Souk({ baseUrl, tokens, onTokens: (renewed) => void kept.push(renewed) });
  expect((await api.account.quota()).nextCallRejectReason).toBeNull();
  ownSouk.clock.advance(3_700_000);
  await Promise.all([api.account.quota(), api.account.quota()]);
  expect(kept).toHaveLength(1);
  await revokeToken(baseUrl, kept[0]?.refreshToken ?? '');
  await expect(api.account.quota()).rejects.toMatchObject({ status: 401 });
});

test('a request whose refusal arrives after another one has renewed the tokens uses the renewed ones', async () => {
  const refusals: (() => void)[] = [];
  let renewals = 0;
  const fetchOnce = tokenFetch<Tokens>(
    { accessToken: 'old', refreshToken: 'r', expiresAt: Number.POSITIVE_INFINITY },
    async () => {
      renewals += 1;
      return { accessToken: 'new', refreshToken: 'r', expiresAt: Number.POSITIVE_INFINITY };
    },
    async (_input, init) => {
      if (new Headers(init?.headers).get('authorization') === 'Bearer new') return new Response('yes');
      await new Promise<void>((resolve) => refusals.push(resolve));
      return new Response('no', { status: 401 });
    },
  );
  const answers = [fetchOnce('http://127.0.0.1'), fetchOnce('http://127.0.0.1')];
  await expect.poll(() => refusals.length).toBe(2);
  refusals[0]?.();
  expect(await (await answers[0])?.text()).toBe('yes');
  refusals[1]?.();
  expect(await (await answers[1])?.text()).toBe('yes');
  expect(renewals).toBe(1);
});
