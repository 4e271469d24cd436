import { describe, expect } from 'vitest';
import { freePort } from '../../src/platform/embedded/server-process.ts';
import { createTestDatabase } from '../support/database.ts';
import type { Souk } from '../support/souk.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', { workers: 0 });
let souk: Souk;
let command: SoukCommand;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  command = soukCommand({ DATABASE_URL: souk.databaseUrl, SOUK_DATA_DIR: '/nonexistent/souk' });
});

/** Returns its message, which must be one line on standard error, with exit code 1. */
async function sentence(
  line: string | readonly string[],
  settings: Record<string, string> = {},
): Promise<string> {
  const { code, stdout, stderr } = await command.run(line, settings);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^\S.*\.\n$/);
  return stderr.trimEnd();
}

describe('an account that does not exist', () => {
  test.each([
    'account disable 999999',
    'key reset --account 999999',
    'key revoke --account 999999',
    'grant subscription --account 999999 --plan basic',
    'grant pack --account 999999 --units 1',
    'usage --account 999999 --json',
    'ledger --account 999999',
  ])('%s', async (line) => {
    expect(await sentence(line)).toBe('Account 999999 does not exist.');
  });
});

describe('an invalid argument', () => {
  test.each<[string | string[], RegExp]>([
    ['account create --email ann', /^--email must be an e-mail address/],
    [['account', 'create', '--email', 'a@b.example', '--name', '  '], /^--name must not be empty/],
    [
      ['account', 'create', '--email', 'a@b.example', '--name', 'A\u001b[31m'],
      /^--name must not have control/,
    ],
    ['account disable ann', /^ID must be an account number/],
    ['key create --account 0', /^--account must be an account number/],
    ['grant pack --account 1 --units=-5', /^--units must be a whole number from 1 to/],
    ['grant pack --account 1 --units 1e3', /^--units must be a whole number/],
    ['grant pack --account 1 --units 5 --rate 0', /^--rate must be a whole number from 1 to/],
    ['grant pack --account 1 --units 5 --valid-days 1.5', /^--valid-days must be a whole number/],
    ['grant pack --account 1 --units 5 --wallet night', /^--wallet must be general or off_peak/],
    ['grant subscription --account 1 --plan basic --months 121', /^--months must be .+ from 1 to 120/],
    ['grant subscription --account 1 --plan basic --quantity 0', /^--quantity must be/],
    ['grant subscription --account 1 --plan basic --starts soon', /^--starts must be a time such as/],
    ['ledger --account 1 --limit 0', /^--limit must be/],
    ['usage --account x --days x', /^--account must be .+; --days must be /],
  ])('%s', async (line, expected) => {
    expect(await sentence(line)).toMatch(expected);
  });

  test('an unknown plan, with the names of the existing plans', async () => {
    const { accountId } = await souk.account();
    expect(await sentence(`grant subscription --account ${accountId} --plan gold`)).toMatch(
      /^The plan "gold" does not exist\. Use one of .*basic, .*enterprise, .*pro, .*trial\.$/,
    );
  });
});

describe('a missing or invalid setting', () => {
  test('no DATABASE_URL and no running service', async () => {
    expect(await sentence('account list', { DATABASE_URL: '' })).toBe(
      'DATABASE_URL is not set, and `npm start` is not running a database in /nonexistent/souk. ' +
        'Set DATABASE_URL or run `npm start`.',
    );
  });

  test('a DATABASE_URL that is not a PostgreSQL address', async () => {
    expect(await sentence('account list', { DATABASE_URL: 'localhost' })).toMatch(
      /^Bad setting: DATABASE_URL /,
    );
  });

  test('a DATABASE_URL where no server listens, without its password', async () => {
    const url = `postgresql://user:pa55word@127.0.0.1:${await freePort()}/souk`;
    const said = await sentence('account list', { DATABASE_URL: url });
    expect(said).toMatch(/^DATABASE_URL does not lead to a usable PostgreSQL: /);
    expect(said).not.toContain('pa55word');
  });

  test('a database without tables', async () => {
    const empty = await createTestDatabase();
    const work = new URL(souk.databaseUrl);
    work.pathname = new URL(empty.url).pathname;
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: empty.url });
    await client.connect();
    await client.query('drop schema public cascade; create schema public');
    await client.end();
    expect(await sentence('account list', { DATABASE_URL: work.href })).toBe(
      'The database is not up to date. Run `npm run migrate` first.',
    );
    await empty.drop();
  });
});

describe('a wrong command line exits with 2 and prints the usage', () => {
  test.each<[string, RegExp]>([
    ['frobnicate', /unknown command 'frobnicate'/],
    ['account', /^Usage: souk account/],
    ['account create', /required option '--email <E>' not specified/],
    ['account disable', /missing required argument 'ID'/],
    ['account list everything', /too many arguments/],
    ['key create', /required option '--account <ID>' not specified/],
    ['grant pack --account 1 --units', /option '--units <N>' argument missing/],
  ])('%s', async (line, expected) => {
    const { code, stdout, stderr } = await command.run(line);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(expected);
  });
});

test.each(['--help', 'help', 'grant --help', 'grant pack --help'])(
  '%s prints help and exits with 0',
  async (line) => {
    const { code, stdout, stderr } = await command.run(line);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: souk /);
  },
);
