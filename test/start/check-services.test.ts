import { expect, inject } from 'vitest';
import { checkAccounts, checkKeepa, checkPostgres, checkRedis } from '../../src/start/check-services.ts';
import { test } from '../support/souk-test.ts';

/** The message of an error that must come, in one line without a password. */
async function messageOf(checking: Promise<void>): Promise<string> {
  const error = await checking.then(
    () => null,
    (thrown: Error) => thrown,
  );
  expect(error?.message).not.toMatch(/\n|pa55word/);
  return error?.message ?? '';
}

function changed(address: string, change: (url: URL) => void): string {
  const url = new URL(address);
  change(url);
  return url.href;
}

test('refuses a DATABASE_URL of a database that does not exist', async () => {
  const url = changed(inject('templateDatabaseUrl'), (wrong) => {
    wrong.pathname = '/nowhere';
  });
  expect(await messageOf(checkPostgres(url))).toBe(
    'DATABASE_URL does not lead to a usable PostgreSQL: database "nowhere" does not exist.',
  );
});

test.for([
  ['without the required password', '', /^REDIS_URL does not lead to a usable Redis: NOAUTH .*\.$/],
  ['with a wrong password', 'pa55word', /^REDIS_URL does not lead to a usable Redis: WRONGPASS .*\.$/],
] as const)('refuses a REDIS_URL %s', async ([_, password, message]) => {
  const url = changed(inject('redisUrl'), (wrong) => {
    wrong.password = password;
  });
  expect(await messageOf(checkRedis(url))).toMatch(message);
});

test('refuses a wrong password in DATABASE_URL', async () => {
  const url = changed(inject('templateDatabaseUrl'), (wrong) => {
    wrong.password = 'pa55word';
  });
  expect(await messageOf(checkPostgres(url))).toMatch(
    /^DATABASE_URL does not lead to a usable PostgreSQL: password authentication failed .*\.$/,
  );
});

test('refuses a REDIS_URL of a server that is not Redis', async ({ demo }) => {
  expect(await messageOf(checkRedis(demo.url.replace('http:', 'redis:')))).toMatch(
    /^REDIS_URL does not lead to a usable Redis: .+\.$/,
  );
});

test('refuses a KEEPA_BASE_URL that is not a product data provider', async ({ demo }) => {
  expect(await messageOf(checkKeepa(`${demo.url}/elsewhere`, 'a-key-of-sixteen-or-more'))).toMatch(
    /^KEEPA_BASE_URL \S+ answers with HTTP 404; is it a product data provider\?$/,
  );
});

test('names the accounts whose keys the provider refuses, and fails if it accepts none', async ({ demo }) => {
  const [good, bad] = [
    { name: 'main', key: 'a-key-of-sixteen-or-more' },
    { name: 'second', key: 'too-short' },
  ];
  const refusal = /^KEEPA_API_KEY: the key of the account second is not accepted by \S+ \(HTTP 400\)\.$/;
  expect(await checkAccounts(demo.url, [good, bad])).toEqual([expect.stringMatching(refusal)]);
  expect(await messageOf(checkAccounts(demo.url, [bad]).then(() => {}))).toMatch(/^KEEPA_API_KEY is not/);
  const none = checkAccounts(demo.url, [bad, { ...bad, name: 'third' }]).then(() => {});
  expect(await messageOf(none)).toMatch(/account second .+ account third /);
});
