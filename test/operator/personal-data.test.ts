import { readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { testAccountOf } from '../../src/accounts/authentication.ts';
import { ERASURE_DELAY_MS, eraseDueAccounts, erasePerson } from '../../src/operator/personal-data/erasure.ts';
import {
  ACCOUNT_TABLES,
  exportAccount,
  PERSON_TABLES,
} from '../../src/operator/personal-data/export-account.ts';
import { queueMail } from '../../src/outbox/mail/mails.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { finished, startBatch } from '../support/batches.ts';
import type { Client } from '../support/client.ts';
import { accountOf, PASSWORD, signUp } from '../support/customer.ts';
import { auditLedger } from '../support/soak/ledger-audit.ts';
import type { Souk } from '../support/souk.ts';
import { soukCommand } from '../support/souk-command.ts';
import { testWithHeldProducts as test } from '../support/souk-test.ts';
import type { Visitor } from '../support/visitor.ts';

// The command uses the system clock.
test.override('soukOptions', ({ demo }) => ({ clock: databaseClock(), testUrl: demo.url }));

let souk: Souk;
test.beforeAll(({ souk: opened }) => {
  souk = opened;
});

interface Customer {
  id: number;
  email: string;
  visitor: Visitor;
}

let customers = 0;

/** A customer with rows in many tables. */
async function customer(): Promise<Customer> {
  customers += 1;
  const email = `person${customers}@private.example`;
  const visitor = await signUp(souk, email, { name: `Person ${customers}` });
  const id = await accountOf(souk.database, email);
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl });
  await command.text(`grant pack --account ${id} --units 1000 --valid-days 3650`);
  const { key } = await command.json(`key create --account ${id}`);
  const client = souk.clientOf(key);
  const job = await client.get(
    `/api/market/product?country=us&asins=B0PRIVAT${String(customers).padStart(2, '0')}&async=1`,
  );
  expect(job.status).toBe(202);
  await souk.database.query(
    `with made as (
       insert into schedules (id, account_id, name, cron, timezone, feed_window, run_hours, operation, item_count, units_quoted,
         items, created_at, updated_at)
       values (gen_random_uuid(), $1, 'my schedule', '0 0 * * *', 'UTC', 'any', 1, 'market.product', 1, 1, '', now(), now())
       returning id)
     insert into schedule_runs (id, schedule_id, due_at, started_at, trigger, state)
     select gen_random_uuid(), id, now(), now(), 'manual', 'started' from made`,
    [id],
  );
  await souk.database.query(
    `insert into failures (at, code, place, account_id, reason) values (now(), '5000', '/', $1, 'of a person')`,
    [id],
  );
  return { id, email, visitor };
}

async function exported(id: number): Promise<string> {
  let text = '';
  for await (const piece of exportAccount(souk.database, id, Date.now())) text += piece;
  return text;
}

const rowsOf = async (text: string, values: unknown[] = []) => (await souk.database.query(text, values)).rows;

const fail = (_accountId: number, error: unknown) => {
  throw error;
};

test('every table with an account, and every table that belongs to one of these, has a rule', async () => {
  const rows = (await rowsOf(
    `with recursive own as (
       select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id'
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       union select 'accounts'::regclass::oid
       -- Its records belong to connections by their grant.
       union select 'oauth_records'::regclass::oid
       union select k.conrelid from own join pg_constraint k on k.confrelid = own.oid and k.contype = 'f'
         join pg_class c on c.oid = k.conrelid and not c.relispartition)
     select oid::regclass::text as name from own order by 1`,
  )) as { name: string }[];
  expect(rows.length).toBeGreaterThan(25);
  expect(Object.keys(ACCOUNT_TABLES).sort()).toEqual(rows.map(({ name }) => name));
});

test('every table with a person has a rule', async () => {
  const rows = (await rowsOf(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'person_id'
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     union select 'people' union select 'connections' union select 'oauth_records'
     union select conrelid::regclass::text from pg_constraint where confrelid = 'people'::regclass and contype = 'f'
     order by 1`,
  )) as { name: string }[];
  expect(Object.keys(PERSON_TABLES).sort()).toEqual(rows.map(({ name }) => name));
});

test('docs/operating/personal-data.md names every table with its rule', async () => {
  const page = await readFile('docs/operating/personal-data.md', 'utf8');
  const tables = [...Object.entries(ACCOUNT_TABLES), ...Object.entries(PERSON_TABLES)];
  for (const [name, { section: own, hidden, kept, isEmptied }] of tables) {
    const section = own === undefined ? `no: ${hidden}` : `\`${own}\``;
    const erasure = isEmptied ? 'pseudonym' : 'deleted';
    const rule = kept === undefined ? erasure : `kept: ${kept}`;
    expect(page).toContain(`| \`${name}\` | ${section} | ${rule} |`);
  }
});

test('the export is one JSON document with the sections of the account, without secrets and other people', async () => {
  const [one, other] = [await customer(), await customer()];
  const text = await exported(one.id);
  const { accountId, live, test: ofTest } = JSON.parse(text);
  expect(accountId).toBe(one.id);
  const sections = Object.values(ACCOUNT_TABLES).flatMap(({ section }) => section ?? []);
  expect(Object.keys(live)).toEqual(sections);
  expect(Object.keys(ofTest)).toEqual(sections);
  expect(live.profile).toMatchObject([{ id: one.id, name: expect.stringMatching(/^Person/) }]);
  expect([
    live.keys,
    live.packs,
    live.openCalls,
    live.schedules,
    live.scheduleRuns,
    live.members,
  ]).toMatchObject([
    [{ purpose: 'customer' }],
    [{ total_units: 1_000 }],
    [{ operation: 'market.product' }],
    [{ name: 'my schedule' }],
    [{ trigger: 'manual' }],
    [{ role: 'owner' }],
  ]);
  expect(text).not.toMatch(/hash|secret"|credential|argon2/);
  expect(text).not.toContain(other.email);
});

test('a person downloads the own data, without secrets and the data of other people', async () => {
  const [one, other] = [await customer(), await customer()];
  await souk.database.query(
    `insert into invitations (account_id, email, role, created_at, expires_at) values ($1, $2, 'viewer', now(), now())`,
    [other.id, one.email],
  );
  const download = await one.visitor.get('/profile/data.json');
  expect(download.headers['content-disposition']).toMatch(/^attachment; filename="person-\d+\.json"$/);
  const { data } = JSON.parse(download.html);
  const sections = Object.values(PERSON_TABLES).flatMap(({ section }) => section ?? []);
  expect(Object.keys(data)).toEqual(sections);
  expect([data.profile, data.memberships, data.sessions, data.invitations]).toMatchObject([
    [{ email: one.email }],
    [{ account_id: one.id, role: 'owner' }],
    [{}],
    [{ role: 'viewer' }],
  ]);
  expect(download.html).not.toMatch(/hash|secret"|credential|argon2/);
  expect(download.html).not.toContain(other.email);
});

test('mails to other people do not name a person who deletes the profile', async () => {
  const [one, other] = [await customer(), await customer()];
  const to = `invited-by-${one.email}`;
  const invitation = { requestId: to, accountName: 'Shop', by: one.email, role: 'viewer', invitationId: 1 };
  await queueMail(souk.database, { accountId: other.id, kind: 'invitation', to, facts: invitation });
  const [person] = await rowsOf('select id from people where email = $1', [one.email]);
  await inTransaction(souk.database, (client) => erasePerson(client, person.id));
  const [mail] = await rowsOf('select payload from outbox where recipient = $1', [to]);
  expect(JSON.parse(mail.payload)).toEqual({ ...invitation, by: 'a deleted profile' });
});

test('the export has every row of more than one page, once', async () => {
  const { id } = await customer();
  await souk.database.query(
    `insert into usage_days (account_id, day, operation, calls, units)
     select $1, date '2020-01-01' + n / 2, 'operation ' || n % 2, 1, 1 from generate_series(0, 1100) as n`,
    [id],
  );
  const { live } = JSON.parse(await exported(id));
  // The audit of the books, below, would find that no calls belong to these rows.
  await souk.database.query("delete from usage_days where day < '2025-01-01'");
  const keys = live.usage.map(
    ({ day, operation }: { day: string; operation: string }) => `${day} ${operation}`,
  );
  expect([keys.length, new Set(keys).size]).toEqual([1_101, 1_101]);
});

test('a customer downloads the data, asks for the erasure with password and word, and undoes it', async () => {
  const { id, visitor } = await customer();
  const download = await visitor.get('/account/data.json');
  expect(download.headers['content-disposition']).toBe(`attachment; filename="account-${id}.json"`);
  expect(JSON.parse(download.html).live.profile[0].id).toBe(id);

  const ask = async (fields: Record<string, string>) => {
    await visitor.get('/account/settings');
    return visitor.post('/account/settings/erase', fields);
  };
  expect((await ask({ password: PASSWORD, confirmation: 'delete' })).text).toContain(
    'must be the word DELETE',
  );
  expect((await ask({ password: 'another password', confirmation: 'DELETE' })).text).toContain(
    'Incorrect password',
  );
  expect((await ask({ password: PASSWORD, confirmation: 'DELETE' })).text).toContain('will be deleted at');
  expect((await visitor.post('/account/settings/keep', {})).text).not.toContain('will be deleted at');
  expect(await eraseDueAccounts(souk.database, Date.now() + 2 * ERASURE_DELAY_MS, fail)).toEqual([]);
});

test('a download can be repeated after one whose line in the audit log could not be written', async () => {
  const { id, visitor } = await customer();
  await souk.database.query(
    `create function refuse_line() returns trigger language plpgsql as $$ begin raise 'no line'; end $$;
     create trigger refuse before insert on audit_log for each row when (new.account_id = ${id}) execute function refuse_line()`,
  );
  const download = async () => (await visitor.get('/account/data.json')).status;
  expect(await download()).toBe(500);
  await souk.database.query('drop trigger refuse on audit_log');
  await expect.poll(download).toBe(200);
});

test('the command writes the export to a new file that only its owner can read', async () => {
  const { id } = await customer();
  const file = join(tmpdir(), `souk-export-${id}-${process.pid}.json`);
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl });
  try {
    await command.text(`account export --account ${id} --out ${file}`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(file, 'utf8')).accountId).toBe(id);
    expect((await command.run(`account export --account ${id} --out ${file}`)).stderr).toMatch(/exists/);
  } finally {
    await rm(file, { force: true });
  }
});

/** Gives an account a plan that renews itself. */
async function renewPlan(id: number): Promise<void> {
  const [{ id: plan }] = (await rowsOf('insert into plans (code, name) values ($1, $1) returning id', [
    `renewing-${id}`,
  ])) as [{ id: number }];
  await souk.database.query(
    `with bought as (insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, months, amount_cents,
         currency, provider, created_at, plan_id)
       values (gen_random_uuid(), $1, 'plan', 'renewing', 'R', 'general', 1, 1, 100, 'usd', 'stripe', now(), $2) returning id)
     insert into renewing_plans (id, account_id, purchase_id, wallet, state, plan_id, quantity, amount_cents, period_start,
       period_end, seen_at)
     select 'sub_' || $1, $1, id, 'general', 'active', $2, 1, 100, now(), now() + interval '1 month', now() from bought`,
    [id, plan],
  );
}

test('refuses the erasure while a plan renews itself', async () => {
  const { id } = await customer();
  await renewPlan(id);
  const { code, stderr } = await soukCommand({ DATABASE_URL: souk.databaseUrl }).run(
    `account erase --account ${id}`,
  );
  expect([code, stderr]).toEqual([1, 'The account has a plan that renews. End the plan first.\n']);
});

test('an erasure that is due and waits for a plan can be undone', async () => {
  const { id, visitor } = await customer();
  await souk.database.query('update accounts set erase_at = now() where id = $1', [id]);
  await renewPlan(id);
  expect(await eraseDueAccounts(souk.database, Date.now(), fail)).toEqual([]);
  expect((await visitor.post('/account/settings/keep', {})).text).not.toContain('will be deleted at');
});

test('an erasure that is undone while others run does not happen', async () => {
  const [gone, kept] = [await customer(), await customer()];
  await souk.database.query(
    `update accounts set erase_at = now() - case id when ${gone.id} then interval '1 hour' else '0' end
     where id in (${gone.id}, ${kept.id});
     create function undo_other() returns trigger language plpgsql as $$ begin
       update accounts set erase_at = null where id = ${kept.id}; return new; end $$;
     create trigger undo before update of state on accounts for each row when (old.id = ${gone.id}) execute function undo_other()`,
  );
  expect(await eraseDueAccounts(souk.database, Date.now(), fail)).toEqual([
    `Erased the personal data of account ${gone.id}`,
  ]);
  await souk.database.query('drop trigger undo on accounts');
  expect(await rowsOf('select state from accounts where id = $1', [kept.id])).toEqual([{ state: 'active' }]);
});

test('erases no account that can still pay a purchase at Stripe', async () => {
  const { id } = await customer();
  const { eraseAt } = await soukCommand({ DATABASE_URL: souk.databaseUrl }).json(
    `account erase --account ${id}`,
  );
  const dueAt = Date.parse(eraseAt);
  await souk.database.query(
    `insert into orders (id, account_id, kind, offer_code, offer_name, wallet, quantity, amount_cents, currency, provider,
       state, created_at, ended_at, pack_units, pack_rate_limit_per_minute, pack_valid_days)
     values (gen_random_uuid(), $1, 'pack', 'p', 'P', 'general', 1, 100, 'usd', 'stripe', 'cancelled', $2, $2, 1, 1, 1)`,
    [id, new Date(dueAt - 60_000)],
  );
  expect(await eraseDueAccounts(souk.database, dueAt, fail)).toEqual([]);
  expect(await eraseDueAccounts(souk.database, dueAt + DAY_MS, fail)).toEqual([
    `Erased the personal data of account ${id}`,
  ]);
});

test('erases due accounts, even if an earlier one cannot be erased: releases open calls, deletes personal data, keeps the books, and leaves others alone', async () => {
  const [gone, next, stays] = [await customer(), await customer(), await customer()];
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl });
  const { eraseAt } = await command.json(`account erase --account ${gone.id}`);
  const later = await command.json(`account erase --account ${next.id}`);
  const before = JSON.parse(await exported(stays.id)).live;
  const mailsTo = async ({ email }: Customer) =>
    (await rowsOf("select kind from outbox where recipient = $1 and kind ~ 'eras'", [email])).map(
      ({ kind }) => kind,
    );
  expect(await mailsTo(gone)).toEqual(['erasure_planned']);
  expect(await eraseDueAccounts(souk.database, Date.parse(eraseAt) - 1, fail)).toEqual([]);

  // An interruption in the last transaction: the other account is erased, and the next run continues.
  await souk.database.query(
    `create function refuse_erasure() returns trigger language plpgsql as $$ begin raise 'interrupted'; end $$;
     create trigger refuse before update of erased_at on accounts for each row when (old.id = ${gone.id}) execute function refuse_erasure()`,
  );
  const failures: [number, string][] = [];
  const notes = await eraseDueAccounts(souk.database, Date.parse(later.eraseAt), (id, error) =>
    failures.push([id, String(error)]),
  );
  expect(failures).toEqual([[gone.id, 'error: interrupted']]);
  expect(notes).toEqual([`Erased the personal data of account ${next.id}`]);
  await souk.database.query('drop trigger refuse on accounts');
  expect(await eraseDueAccounts(souk.database, Date.parse(eraseAt), fail)).toEqual([
    `Erased the personal data of account ${gone.id}`,
  ]);
  expect(await eraseDueAccounts(souk.database, Date.parse(eraseAt), fail)).toEqual([]);

  expect(await mailsTo(gone)).toEqual(['account_erased']);
  const enabled = await command.run(`account enable ${gone.id}`);
  expect([enabled.code, enabled.stderr]).toEqual([
    1,
    `The personal data of account ${gone.id} is erased, so it stays closed.\n`,
  ]);

  const { live } = JSON.parse(await exported(gone.id));
  const left = Object.entries(live).filter(([, rows]) => (rows as unknown[]).length > 0);
  expect(left.map(([name]) => name).sort()).toEqual(['calls', 'ledger', 'packs', 'profile', 'usage']);
  expect(live.profile[0]).toMatchObject({ name: 'Erased account', state: 'unavailable' });
  // Its owner was a member of no other account.
  expect(await rowsOf('select from people where email = $1', [gone.email])).toEqual([]);
  expect(live.calls).toMatchObject([{ state: 'released', input: null, error: null, units_charged: 0 }]);
  expect(live.packs).toMatchObject([{ total_units: 1_000, remaining_units: 1_000 }]);
  expect(await rowsOf('select from failures where account_id = $1', [gone.id])).toEqual([]);
  expect(await rowsOf('select from audit_log where account_id = $1', [gone.id])).not.toEqual([]);
  expect(JSON.parse(await exported(stays.id)).live).toEqual(before);
  expect((await gone.visitor.get('/account')).path).toMatch(/^\/sign-in/);
  // The calls of the other customers wait for upstream.
  const faults = await auditLedger(souk.database);
  expect(faults.filter(({ row }) => !('deadline_at' in row) || row.account_id === gone.id)).toEqual([]);
});

test('erases an account with a running batch and a test account with calls of its own', async () => {
  const { id, email } = await customer();
  const testId = testAccountOf(id);
  const command = soukCommand({ DATABASE_URL: souk.databaseUrl });
  const { key } = await command.json(`key create --account ${id}`);
  const { key: testKey } = await command.json(`key create --account ${id} --test`);
  const tester = souk.clientOf(testKey);
  expect((await tester.get('/api/market/product?country=us&asins=B0PRIVAT99')).status).toBe(200);
  const batchOf = (client: Client) =>
    startBatch(client, {
      operation: 'market.product',
      name: 'private batch',
      items: ['B0PRIVAT91', 'B0PRIVAT92'].map((asin) => ({ domain: 1, asin })),
    });
  await batchOf(souk.clientOf(key));
  await finished(tester, await batchOf(tester));
  await expect
    .poll(() => rowsOf('select from open_calls where account_id = $1 and background', [id]))
    .not.toEqual([]);

  const { eraseAt } = await command.json(`account erase --account ${id}`);
  expect(await eraseDueAccounts(souk.database, Date.parse(eraseAt), fail)).toEqual([
    `Erased the personal data of account ${id}`,
  ]);
  const { live, test: ofTest } = JSON.parse(await exported(id));
  for (const sections of [live, ofTest]) {
    const left = Object.entries(sections).filter(([, rows]) => (rows as unknown[]).length > 0);
    expect(left.map(([name]) => name)).toEqual(expect.not.arrayContaining(['batches', 'keys', 'messages']));
    for (const { state, input } of sections.calls) expect([input, state]).toEqual([null, expect.any(String)]);
  }
  expect(ofTest.profile[0]).toMatchObject({ id: testId, state: 'unavailable', name: 'Erased account' });
  expect(live.profile[0]).toMatchObject({ id, state: 'unavailable' });
  expect(JSON.stringify([live, ofTest])).not.toContain(email);
  expect(await rowsOf('select from open_calls where account_id = any($1)', [[id, testId]])).toEqual([]);
  expect((await tester.get('/api/quota')).status).toBe(401);
  const faults = await auditLedger(souk.database);
  expect(faults.filter(({ row }) => [id, testId].includes(Number(row.account_id)))).toEqual([]);
});
