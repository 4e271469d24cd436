import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { fastify } from 'fastify';
import { describe, expect } from 'vitest';
import { addKey } from '../../src/accounts/account-keys.ts';
import { WITHOUT_LIMITS } from '../../src/accounts/key-settings.ts';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { registerCommands } from '../../src/cli/program.ts';
import { AUDIT_ACTIONS } from '../../src/operator/audit.ts';
import { RETENTION, retain } from '../../src/operator/retention.ts';
import { createLogger } from '../../src/platform/log.ts';
import { registerOperator } from '../../src/site/operator/register-operator.ts';
import type { Pages } from '../../src/site/pages.ts';
import { ownerOf, staffOf } from '../support/customer.ts';
import { csvReport } from '../support/reports.ts';
import type { Souk } from '../support/souk.ts';
import { soukCommand } from '../support/souk-command.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

const TOKEN = 'only-for-the-operator';
const SECRETS = /key-of-an-account|km_\w{8}|reset-password|argon2|@in\.example/;

test.override('soukOptions', { workers: 0, operator: { adminToken: TOKEN } });

let souk: Souk;
let operator: Visitor;
let operatorName = '';
let account: { accountId: number; email: string };
const command = () => soukCommand({ DATABASE_URL: souk.databaseUrl, SOUK_DATA_DIR: tmpdir() });
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  await ensureStandardPlans(souk.database);
  await souk.database.query(
    `insert into incidents (component, started_at, ended_at, level, level_now)
     values ('api', '2026-03-04', '2026-03-04T01:00:00Z', 'outage', 'operational')`,
  );
  const staff = await staffOf(souk);
  operator = staff.visitor;
  operatorName = `person ${staff.personId}`;
  await operator.get('/admin');
});
test.beforeEach(async () => {
  account = await newAccount();
});

async function newAccount() {
  const { accountId } = await souk.account({ plan: null });
  const email = `${accountId}@in.example`;
  await souk.database.query('update people set email = $2, email_confirmed_at = null where id = $1', [
    await ownerOf(souk.database, accountId),
    email,
  ]);
  return { accountId, email };
}

interface Line {
  id: number;
  channel: string;
  operator: string;
  address: string | null;
  action: string;
  account_id: number | null;
  target: string | null;
  before: unknown;
  after: unknown;
}

/** The lines that an act writes. */
async function linesOf(act: () => Promise<unknown>): Promise<Line[]> {
  const { rows } = await souk.database.query<{ id: number }>(
    'select coalesce(max(id), 0) as id from audit_log',
  );
  await act();
  const { rows: lines } = await souk.database.query<Line>(
    'select * from audit_log where id > $1 order by id',
    [rows[0]?.id],
  );
  return lines;
}

async function purchase(): Promise<string> {
  const id = crypto.randomUUID();
  await souk.database.query(
    `insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, amount_cents, currency,
       provider, state, created_at, pack_units, pack_rate_limit_per_minute, pack_valid_days)
     values ($1, $2, 'pack', 'p', 'P', 'general', 1, 100, 'usd', 'manual', 'pending', now(), 10, 60, 30)`,
    [id, account.accountId],
  );
  return id;
}

async function announcement(): Promise<string> {
  const { rows } = await souk.database.query<{ id: number }>(
    `insert into announcements (text, level, audience, starts_at, ends_at)
     values ('News', 'info', 'everyone', '2020-01-01', '2099-01-01') returning id`,
  );
  return String(rows[0]?.id);
}

async function accountNote(): Promise<string> {
  const { rows } = await souk.database.query<{ id: number }>(
    `insert into account_notes (account_id, at, author, text) values ($1, now(), 'person 1', 'Pays late') returning id`,
    [account.accountId],
  );
  return String(rows[0]?.id);
}

/** Creates a discount. @returns its number. */
async function discount(): Promise<string> {
  const { rows } = await souk.database.query<{ id: number }>(
    "insert into price_reductions (percent, created_at, ends_at) values (5, now(), '2099-01-01') returning id",
  );
  return String(rows[0]?.id);
}

/** Adds a paused account at a provider. @returns its name. */
async function providerAccount(provider = souk.providers.products): Promise<string> {
  const name = `account-${crypto.randomUUID().slice(0, 8)}`;
  await souk.database.query(
    "insert into provider_accounts (provider, name, key, key_digest, state, created_at) values ($1, $2, 'k', $3, 'paused', now())",
    [provider, name, Buffer.from(name)],
  );
  return name;
}

const PROVIDER_KEY = 'key-of-an-account-at-the-provider';

const PACK = { units: '10', wallet: 'general', rate: '60', validDays: '30', window: '' };
const PLAN_OFFER = {
  code: 'new-plan',
  name: 'New',
  minuteLimit: '10',
  dailyLimit: '',
  monthlyLimit: '',
  price: '9',
};
const PACK_OFFER = {
  code: 'new-pack',
  name: 'New',
  wallet: 'general',
  units: '10',
  rateLimitPerMinute: '60',
  validDays: '30',
  window: '',
  price: '1',
  isNew: '1',
};

interface Form {
  fields?: Record<string, string>;
  id?: () => Promise<string>;
  /** Prepares the request, and returns further fields. */
  prepare?: () => Promise<Record<string, string>>;
  action: string;
}

/** The forms of the console that change something: a valid request and the action of its line. */
const FORMS: Record<string, Form> = {
  '/admin/accounts/new': { fields: { email: 'new@in.example', name: '' }, action: 'account.created' },
  '/admin/accounts/:id/disable': { action: 'account.disabled' },
  '/admin/accounts/:id/enable': { action: 'account.enabled' },
  '/admin/accounts/:id/confirm-email': { action: 'account.email-confirmed' },
  '/admin/accounts/:id/password': { action: 'password-reset.created' },
  '/admin/accounts/:id/notes': { fields: { text: 'Pays by invoice' }, action: 'note.added' },
  '/admin/accounts/:id/notes/:note/delete': { id: accountNote, action: 'note.deleted' },
  '/admin/accounts/:id/export': { action: 'account.exported' },
  '/admin/accounts/:id/erase': { action: 'account.erasure-requested' },
  '/admin/accounts/:id/keep': { action: 'account.erasure-cancelled' },
  '/admin/accounts/:id/subscription': {
    fields: { plan: 'basic', wallet: 'general', quantity: '1', months: '1', starts: '' },
    action: 'subscription.granted',
  },
  '/admin/accounts/:id/pack': { fields: PACK, action: 'pack.granted' },
  '/admin/orders/:orderId/confirm': { id: purchase, action: 'purchase.confirmed' },
  '/admin/orders/:orderId/cancel': { id: purchase, action: 'purchase.cancelled' },
  '/admin/provider-accounts': {
    fields: { name: 'added', key: PROVIDER_KEY },
    action: 'provider-account.added',
  },
  '/admin/provider-accounts/:name/state': {
    id: providerAccount,
    fields: { state: 'active' },
    action: 'provider-account.changed',
  },
  '/admin/provider-accounts/:name/remove': { id: providerAccount, action: 'provider-account.removed' },
  '/admin/offers/plan': { fields: { ...PLAN_OFFER, isNew: '1' }, action: 'plan.saved' },
  '/admin/offers/pack': { fields: PACK_OFFER, action: 'offer.saved' },
  '/admin/coupons': {
    fields: {
      kind: 'coupon',
      code: 'spring20',
      percent: '20',
      amount: '',
      offer: 'all',
      until: '2028-01-01',
    },
    action: 'reduction.created',
  },
  '/admin/coupons/:id/end': { id: discount, action: 'reduction.ended' },
  '/admin/announcements': {
    fields: {
      text: 'News',
      link: '',
      level: 'info',
      audience: 'everyone',
      from: '',
      until: '2099-01-01',
    },
    action: 'announcement.created',
  },
  '/admin/alerts/:name/silence': {
    id: async () => 'SoukQueueWait',
    fields: { for: '1d' },
    action: 'alert.silenced',
  },
  '/admin/announcements/:id/end': { id: announcement, action: 'announcement.ended' },
  '/admin/incidents': { fields: { id: '1', text: 'Slow' }, action: 'incident.noted' },
  '/admin/staff': {
    prepare: async () => ({ email: account.email, role: 'observer' }),
    action: 'staff.changed',
  },
  '/admin/claim': {
    fields: { token: TOKEN },
    prepare: async () => {
      await souk.database.query(
        'update people set installation_role = null where installation_role is not null',
      );
      return {};
    },
    action: 'staff.changed',
  },
};

/** Each command that changes something, as a line with {id} for the account, and the action of its line. */
const COMMANDS: Record<string, [line: string, action: string]> = {
  'account create': ['--email made@in.example', 'account.created'],
  'account password': ['--account {id}', 'password-reset.created'],
  'account confirm': ['{id}', 'account.email-confirmed'],
  'account reset2fa': ['{id}', 'account.two-factor-removed'],
  'person role': ['{email} observer', 'staff.changed'],
  'person unlink': ['{email}', 'identity.unlinked'],
  'person reset2fa': ['{email}', 'account.two-factor-removed'],
  'member set': ['--account {id} --email {other} --role viewer', 'member.changed'],
  'member remove': ['--account {id} --email {other}', 'member.removed'],
  'account disable': ['{id}', 'account.disabled'],
  'account enable': ['{id}', 'account.enabled'],
  'account export': ['--account {id} --out {folder}/data.json', 'account.exported'],
  'account erase': ['--account {id}', 'account.erasure-requested'],
  'account keep': ['--account {id}', 'account.erasure-cancelled'],
  'key create': ['--account {id}', 'key.created'],
  'key update': ['--account {id} --key {key} --cap-day 5', 'key.changed'],
  'key reset': ['--account {id}', 'key.reset'],
  'key revoke': ['--account {id}', 'key.revoked'],
  'grant subscription': ['--account {id} --plan basic', 'subscription.granted'],
  'coupon create': ['--code AUTUMN --percent 5 --until 2028-01-01', 'reduction.created'],
  'coupon end': ['autumn', 'reduction.ended'],
  'discount create': ['--account {id} --percent 5 --until 2028-01-01', 'reduction.created'],
  'discount end': ['{discount}', 'reduction.ended'],
  'grant pack': ['--account {id} --units 10', 'pack.granted'],
  'provider-accounts add': ['second', 'provider-account.added'],
  'provider-accounts set': ['{providerAccount} draining', 'provider-account.changed'],
  'provider-accounts remove': ['{providerAccount}', 'provider-account.removed'],
  alerts: ['--silence SoukQueueWait --for 1d', 'alert.silenced'],
  announce: ['--text News --until 2099-01-01', 'announcement.created'],
  'announcements end': ['{announcement}', 'announcement.ended'],
  'aba import': ['{report} --country us', 'report.import-started'],
  'aba fetch': ['--country us', 'report.fetch-started'],
  'aba clear': ['', 'reports.deleted'],
};

/** Commands whose lines test/operator/recovery has, with their actions. */
const OF_RECOVERY: Record<string, string> = {
  backup: 'backup',
  restore: 'restore',
  verify: 'admission.opened',
  admit: 'admission.opened',
};

/** Commands that change nothing. */
const READING = [
  'person staff',
  'member list',
  'announcements list',
  'provider-accounts list',
  'account list',
  'key list',
  'plan list',
  'coupon list',
  'discount list',
  'usage',
  'ledger',
  'activity',
  'margin',
  'aba weeks',
  'audit list',
  'mcp',
  'doctor',
];

function pathsOf(of: Command, path: readonly string[] = []): string[] {
  if (of.commands.length === 0) return [path.join(' ')];
  return of.commands.flatMap((sub) => pathsOf(sub, [...path, sub.name()]));
}

describe('the tables of this test', () => {
  test('name every form of the console that changes something', async () => {
    const app = fastify();
    const paths: string[] = [];
    app.addHook('onRoute', ({ method, url }) => {
      if (![method].flat().every((one) => one === 'GET' || one === 'HEAD')) paths.push(url);
    });
    registerOperator(app, {} as Pages, TOKEN);
    await app.ready();
    await app.close();
    expect(paths.sort()).toEqual(Object.keys(FORMS).sort());
  });

  test('name every command', () => {
    const program = new Command('souk');
    registerCommands(program);
    expect(pathsOf(program).sort()).toEqual(
      [...Object.keys(COMMANDS), ...Object.keys(OF_RECOVERY), ...READING].sort(),
    );
  });
});

test.for(Object.entries(FORMS))(
  'the form %s writes one line',
  async ([path, { fields = {}, id, prepare, action }]) => {
    const address = path
      .replace(/:orderId|:name|:note|:id(?=\/end)/, (await id?.()) ?? '')
      .replace(':id', String(account.accountId));
    if (action === 'account.erasure-cancelled')
      await command().text(`account erase --account ${account.accountId}`);
    const more = await prepare?.();
    const lines = await linesOf(async () => {
      const page = await operator.post(address, { ...fields, ...more });
      expect([page.status, page.html]).toEqual([200, expect.not.stringContaining('class="fault"')]);
    });
    expect(lines.map((line) => line.action)).toEqual([action]);
    expect(lines[0]).toMatchObject({
      channel: 'console',
      operator: path === '/admin/claim' ? expect.stringMatching(/^token [0-9a-f]{8}$/) : operatorName,
    });
    expect(lines[0]?.address).toMatch(/127\.0\.0\.1$/);
    if (path.includes('accounts/:id') || path.includes('orders'))
      expect(lines[0]?.account_id).toBe(account.accountId);
    expect(JSON.stringify(lines)).not.toMatch(SECRETS);
  },
);

/** Returns the id of a new key of the account. */
async function keyId(): Promise<number> {
  const given = { settings: WITHOUT_LIMITS, createdBy: null, now: Date.now() };
  return (await addKey(souk.database, account.accountId, given)).id;
}

test.for(Object.entries(COMMANDS))('the command %s writes one line', async ([name, [line, action]]) => {
  const folder = await mkdtemp(join(tmpdir(), 'souk-audit-'));
  try {
    const report = join(folder, 'report.csv');
    await writeFile(report, csvReport('2026-03-07', [{ term: 'tent', rank: 1 }]));
    if (name === 'account keep') await command().text(`account erase --account ${account.accountId}`);
    if (name === 'key revoke') await command().text(`key create --account ${account.accountId}`);
    const { email: other } = await newAccount();
    if (name === 'person unlink')
      await souk.database.query('update people set oidc_issuer = $1, oidc_subject = $1 where email = $1', [
        account.email,
      ]);
    if (name === 'member remove')
      await command().text(`member set --account ${account.accountId} --email ${other} --role viewer`);
    const words = `${name} ${line}`
      .replace('{email}', account.email)
      .replace('{other}', other)
      .replace('{id}', String(account.accountId))
      .replace('{report}', report)
      .replace('{folder}', folder)
      .replace('{announcement}', await announcement())
      .replace('{discount}', await discount())
      .replace('{providerAccount}', await providerAccount('https://api.keepa.com'))
      .replace('{key}', String(await keyId()));
    // `aba fetch` asks this service, which refuses.
    const sellingPartner = {
      SP_API_BASE_URL: souk.clientOf('').baseUrl,
      SP_API_CLIENT_ID: 'id',
      SP_API_CLIENT_SECRET: 'secret',
      SP_API_REFRESH_TOKENS: 'na=token',
    };
    const lines = await linesOf(() => command().run(words.trim(), { ...sellingPartner, PROVIDER_KEY }));
    expect(lines.map((one) => one.action)).toEqual([action]);
    expect(lines[0]).toMatchObject({ channel: 'command', operator: `${userInfo().username}@${hostname()}` });
    expect(lines[0]?.account_id ?? account.accountId).toBe(
      name === 'account create' ? lines[0]?.account_id : account.accountId,
    );
    expect(JSON.stringify(lines)).not.toMatch(SECRETS);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('an action in Bull Board writes a line', async () => {
  const lines = await linesOf(() =>
    souk.clientOf('').raw('/admin/queues/api/queues/none/clean/failed', {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKEN}` },
    }),
  );
  expect(lines).toMatchObject([{ action: 'queue.changed', target: 'PUT /api/queues/none/clean/failed' }]);
});

test('a program with the operator token writes lines with the start of its digest', async () => {
  const program = createVisitor(souk.clientOf('').baseUrl, { authorization: `Bearer ${TOKEN}` });
  await program.get(`/admin/accounts/${account.accountId}`);
  const lines = await linesOf(() => program.post(`/admin/accounts/${account.accountId}/disable`, {}));
  expect(lines).toMatchObject([
    { action: 'account.disabled', operator: expect.stringMatching(/^token [0-9a-f]{8}$/) },
  ]);
});

test('a refused token writes a line with the network address, at most 1,000 in an hour', async () => {
  const guess = async () => {
    const { status } = await souk.clientOf('').raw('/admin', { headers: { authorization: 'Bearer guess' } });
    expect(status).toBe(401);
  };
  expect(await linesOf(guess)).toMatchObject([
    { action: 'session.refused', operator: 'unknown', address: expect.stringContaining('127.0.0.1') },
  ]);
  await souk.database.query(
    `insert into audit_log (channel, operator, action)
     select 'console', 'unknown', 'session.refused' from generate_series(1, 1000)`,
  );
  expect(await linesOf(guess)).toEqual([]);
});

test('an act that fails writes no line, and its line is not kept without it', async () => {
  const grant = `grant subscription --account ${account.accountId} --plan basic`;
  await command().text(grant);
  expect(await linesOf(() => command().run(grant))).toEqual([]);
  await souk.database.query(
    "create function refuse_grants() returns trigger language plpgsql as $$ begin raise 'no'; end $$; create constraint trigger refuse after insert on packs deferrable initially deferred for each row execute function refuse_grants()",
  );
  const lines = await linesOf(() => command().run(`grant pack --account ${account.accountId} --units 10`));
  await souk.database.query('drop trigger refuse on packs');
  expect(lines).toEqual([]);
});

test('PostgreSQL refuses to change a line, and to delete one of the last 400 days', async () => {
  const ask = (text: string) => souk.database.query(text);
  for (const change of [
    "update audit_log set operator = 'x'",
    'delete from audit_log',
    'truncate audit_log',
    "update audit_log set at = now() - interval '500 days'",
  ])
    await expect(ask(change)).rejects.toThrow('the audit log is append-only');
});

test('retention deletes lines after 401 days', async () => {
  const ages = [402, 400.5, 399];
  await souk.database.query(
    `insert into audit_log (at, channel, operator, action, target)
     select now() - make_interval(secs => days * 86400), 'command', 'old', 'reports.deleted', days
     from unnest($1::float[]) as days`,
    [ages],
  );
  await retain({ database: souk.database, log: createLogger('silent'), settings: RETENTION }, Date.now());
  const { rows } = await souk.database.query(
    "select target from audit_log where operator = 'old' order by id",
  );
  expect(rows).toEqual([{ target: '400.5' }, { target: '399' }]);
});

describe('the lines', () => {
  test('are filtered by action, account, operator and day, on the page and as CSV', async () => {
    const { accountId } = account;
    await command().text(`account disable ${accountId}`);
    await command().text(`account enable ${accountId}`);
    const today = new Date().toISOString().slice(0, 10);
    const query = `action=account.disabled&accountId=${accountId}&operator=${hostname()}&from=${today}&to=${today}`;
    const page = await operator.get(`/admin/audit?${query}`);
    expect(page.text).toContain(`Account disabled ${accountId} - state: active -> disabled`);
    expect(page.text).not.toContain('state: disabled -> active');
    const csv = await operator.get(`/admin/audit.csv?${query}`);
    const [head, ...lines] = csv.html.trim().split('\n');
    expect(head).toBe('id,at,channel,operator,address,action,accountId,target,before,after');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      `,account.disabled,${accountId},,"{""state"":""active""}","{""state"":""disabled""}"`,
    );
    expect((await operator.get('/admin/audit?from=2000-01-01&to=2000-01-02')).text).toContain(
      'No lines found.',
    );
    expect((await operator.get('/admin/audit?accountId=x')).status).toBe(400);
  });

  test('in CSV do not start a formula', async () => {
    await souk.database.query(
      "insert into audit_log (channel, operator, action, target) values ('command', '=1+1', 'reports.deleted', '@SUM(1)')",
    );
    const csv = await operator.get('/admin/audit.csv?operator==1');
    expect(csv.html).toContain(`,"'=1+1",`);
    expect(csv.html).toContain(`,"'@SUM(1)",`);
  });

  test('are listed by the command', async () => {
    await command().text(`account disable ${account.accountId}`);
    const listed = await command().json(`audit list --account ${account.accountId}`);
    expect(listed).toMatchObject([
      { action: 'account.disabled', before: { state: 'active' }, after: { state: 'disabled' } },
    ]);
    expect(await command().text(`audit list --account ${account.accountId}`)).toMatch(
      /state: active -> disabled/,
    );
  });
});

/** Acts of members and of keys, which test/site/customer/audit.test.ts has. */
const OF_CUSTOMERS =
  /^(acts|batch|connection|invitation|job|notices|person|link|renewal|schedule|top-up|tracker|webhook)\.|^(account\.renamed|account\.sso-required|member\.invited|member\.joined|member\.left|purchase\.begun)$/;

test('every action of operators has a test of its line', () => {
  const known = [
    ...Object.values(FORMS).map(({ action }) => action),
    ...Object.values(COMMANDS).map(([, a]) => a),
    ...Object.values(OF_RECOVERY),
  ];
  // test/site/operator.test.ts has the line of an account that was viewed.
  expect(new Set([...known, 'account.viewed', 'queue.changed', 'session.refused'])).toEqual(
    new Set(Object.keys(AUDIT_ACTIONS).filter((action) => !OF_CUSTOMERS.test(action))),
  );
});
