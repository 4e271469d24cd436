import type { ClientBase } from 'pg';
import { lockAccount } from '../../accounts/accounts.ts';
import { isTestAccount, liveAccountOf } from '../../accounts/authentication.ts';
import { cancelBatch } from '../../batches/ending.ts';
import { createSettlements } from '../../billing/settlement.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import type { Database, Queryable } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { SoukError, toRecord } from '../../platform/errors.ts';
import { ACCOUNT_TABLES, rowsOf } from './export-account.ts';

/** How long an erasure can be undone. */
export const ERASURE_DELAY_MS = 7 * DAY_MS;

/** The first step of an erasure closes the account. One that is due may wait for a plan or a payment, and can be undone until then. */
const HAS_BEGUN = "state = 'unavailable'";

/** The erasure of an account. */
export interface Erasure {
  /** null: not requested. */
  eraseAt: Date | null;
  erasedAt: Date | null;
}

/** The account cannot be erased now, or is erased and cannot be changed. The message says why. */
export class ErasureRefused extends Error {}

export async function erasureOf(database: Queryable, accountId: number): Promise<Erasure> {
  const { rows } = await database.query<Erasure>(
    'select erase_at as "eraseAt", erased_at as "erasedAt" from accounts where id = $1',
    [accountId],
  );
  return rows[0] ?? { eraseAt: null, erasedAt: null };
}

/** @throws ErasureRefused if the erasure of an account, or of the live account of a test account, has begun. */
export async function requireNotErased(database: Queryable, accountId: number): Promise<void> {
  const { rowCount } = await database.query(`select from accounts where id = $1 and ${HAS_BEGUN}`, [
    liveAccountOf(accountId),
  ]);
  if (rowCount)
    throw new ErasureRefused(`The personal data of account ${accountId} is erased, so it stays closed.`);
}

/**
 * Plans the erasure of an account, and informs its owner. A repeated request does not change its time. @returns when it will be erased; null if the
 * account does not exist or is erased.
 * @throws ErasureRefused while a plan renews itself, because it would be charged again.
 */
export async function requestErasure(
  database: Queryable,
  accountId: number,
  now: number,
): Promise<Date | null> {
  const { rowCount } = await database.query(
    "select from renewing_plans where account_id = $1 and state <> 'ended' limit 1",
    [accountId],
  );
  if (rowCount) throw new ErasureRefused('The account has a plan that renews. End the plan first.');
  const { rows } = await database.query<{ at: Date }>(
    `update accounts set erase_at = coalesce(erase_at, $2)
     where id = $1 and erased_at is null and live_account_id is null returning erase_at as at`,
    [accountId, new Date(now + ERASURE_DELAY_MS)],
  );
  const eraseAt = rows[0]?.at ?? null;
  if (eraseAt) {
    const facts = { eraseAt: eraseAt.toISOString() };
    await queueMail(database, { accountId, kind: 'erasure_planned', facts }, now);
  }
  return eraseAt;
}

/** Undoes the request. @returns false if no erasure is planned, or it has begun. */
export async function cancelErasure(database: Queryable, accountId: number): Promise<boolean> {
  const { rowCount } = await database.query(
    `update accounts set erase_at = null where id = $1 and erase_at is not null and not ${HAS_BEGUN}`,
    [accountId],
  );
  return rowCount === 1;
}

/** Accounts that are erased at most in one run of maintenance. */
const MOST_AT_ONCE = 10;

/** Stripe's pages expire after a day, also those of purchases that were cancelled. A payment may begin a plan that renews. */
const CHECKOUT_OPEN_MS = DAY_MS;

/** Calls that are emptied in one statement. */
const CALLS_AT_ONCE = 5_000;

/**
 * Erases the accounts whose time has come. Each step can be repeated, so an interrupted erasure is continued by the next run.
 * @param onFailure receives the error of an account that cannot be erased; the others are erased all the same.
 * @returns a note for each erased account.
 */
export async function eraseDueAccounts(
  database: Database,
  now: number,
  onFailure: (accountId: number, error: unknown) => void,
): Promise<string[]> {
  const { rows } = await database.query<{ id: number }>(
    `select id from accounts a where erase_at <= $1 and erased_at is null and live_account_id is null
       and not exists (select from renewing_plans r where r.account_id = a.id and r.state <> 'ended')
       and not exists (select from orders o where o.account_id = a.id and o.provider = 'stripe' and o.state <> 'granted'
         and o.created_at > $2)
     order by erase_at`,
    [new Date(now), new Date(now - CHECKOUT_OPEN_MS)],
  );
  const notes: string[] = [];
  for (const { id } of rows) {
    if (notes.length >= MOST_AT_ONCE) break;
    try {
      if (await eraseAccount(database, id, now)) notes.push(`Erased the personal data of account ${id}`);
    } catch (error) {
      onFailure(id, error);
    }
  }
  return notes;
}

/** @returns false if the erasure has been undone meanwhile. */
async function eraseAccount(database: Database, liveId: number, now: number): Promise<boolean> {
  const { rowCount: isDue } = await database.query(
    "update accounts set state = 'unavailable' where id = $1 and erase_at <= $2",
    [liveId, new Date(now)],
  );
  if (!isDue) return false;
  const { rows } = await database.query<{ id: number }>(
    "update accounts set state = 'unavailable' where id = $1 or live_account_id = $1 returning id",
    [liveId],
  );
  // Without keys and schedules, no further call begins.
  for (const { id } of rows)
    await database.query('update api_keys set revoked_at = coalesce(revoked_at, $2) where account_id = $1', [
      id,
      new Date(now),
    ]);
  for (const { id } of rows) await database.query('delete from schedules where account_id = $1', [id]);
  // The live account last: the erasure is complete when its row says so.
  for (const { id } of rows.toSorted((a, b) => b.id - a.id)) {
    await endOpenWork(database, id, now);
    await emptyCalls(database, id);
    await inTransaction(database, (client) => eraseRows(client, id, now));
  }
  return true;
}

/** Cancels batches and calls, so that the units of open calls are released. */
async function endOpenWork(database: Database, accountId: number, now: number): Promise<void> {
  const { rows: batches } = await database.query<{ id: string }>(
    "select id from batches where account_id = $1 and state = 'running'",
    [accountId],
  );
  for (const { id } of batches) await cancelBatch(database, accountId, id, now, async () => {});
  const settlements = createSettlements(database, () => now);
  const error = toRecord(new SoukError('CANCELLED'));
  const { rows: calls } = await database.query<{ id: string }>(
    'select id from open_calls where account_id = $1',
    [accountId],
  );
  const begun = { startedAt: null, attempts: 0 };
  for (const { id: callId } of calls)
    await settlements.end({ accountId, callId, units: 0, answer: null, error, ...begun });
}

/**
 * Removes what the finished calls asked for and received. Their operations, times and units stay with the ledger. Each statement
 * reads the calls after those of the one before.
 */
async function emptyCalls(database: Database, accountId: number): Promise<void> {
  for (let after: string | null = NO_ID; after !== null; ) {
    const { rows }: { rows: { id: string }[] } = await database.query(
      'select id from finished_calls where account_id = $1 and id > $2 order by id offset $3 limit 1',
      [accountId, after, CALLS_AT_ONCE - 1],
    );
    const last: string | null = rows[0]?.id ?? null;
    await database.query(
      `update finished_calls set input = null, error = null, answer = null, claim_key = ''
       where account_id = $1 and id > $2 and ($3::uuid is null or id <= $3)
         and (input is not null or error is not null or answer is not null or claim_key <> '')`,
      [accountId, after, last],
    );
    after = last;
  }
}

const NO_ID = '00000000-0000-0000-0000-000000000000';

/** Deletes the rows of an account, and replaces its name. */
async function eraseRows(client: ClientBase, accountId: number, now: number): Promise<void> {
  await lockAccount(client, accountId);
  const { rowCount } = await client.query('select from open_calls where account_id = $1 limit 1', [
    accountId,
  ]);
  if (rowCount)
    throw new Error(`account ${accountId} still has open calls; its erasure continues in a minute`);
  // They are found by the connections, which end with their keys.
  const { oauth_records: records } = ACCOUNT_TABLES;
  if (records) await client.query(`delete from oauth_records where ${rowsOf(records)}`, [accountId]);
  await client.query('delete from api_keys where account_id = $1', [accountId]);
  for (const [name, table] of Object.entries(ACCOUNT_TABLES))
    if (table.kept === undefined && !table.isEmptied && name !== 'members')
      await client.query(`delete from ${name} where ${rowsOf(table)}`, [accountId]);
  if (!isTestAccount(accountId)) await eraseMembers(client, accountId, now);
  await client.query(
    `update accounts set state = 'unavailable', name = 'Erased account', erased_at = $2 where id = $1`,
    [accountId, new Date(now)],
  );
}

/**
 * Ends the memberships of an account, and informs its owners. People who are members of no other account and have no role in
 * the installation are erased with it.
 */
async function eraseMembers(client: ClientBase, accountId: number, now: number): Promise<void> {
  const { rows } = await client.query<{ personId: number; role: string; email: string; isLast: boolean }>(
    `delete from members m using people p where m.account_id = $1 and p.id = m.person_id
     returning p.id as "personId", m.role, p.email, p.installation_role is null and not exists (
       select from members o where o.person_id = p.id and o.account_id <> $1) as "isLast"`,
    [accountId],
  );
  for (const { personId, role, email, isLast } of rows) {
    if (isLast) await erasePerson(client, personId);
    const facts = { at: new Date(now).toISOString() };
    if (role === 'owner')
      await queueMail(client, { accountId: null, kind: 'account_erased', to: email, facts }, now);
  }
}

/**
 * Erases a person: address, name, password, second factor, sessions, memberships, mails. The connections of the person end. Lines
 * of the audit log keep the number of the person.
 * @returns false if the person does not exist.
 */
export async function erasePerson(client: ClientBase, personId: number): Promise<boolean> {
  await client.query(
    `with ended as (
       update api_keys k set revoked_at = coalesce(k.revoked_at, now()) from connections c
       where c.key_id = k.id and k.person_id = $1 returning c.grant_id)
     delete from oauth_records where grant_id in (select grant_id from ended)`,
    [personId],
  );
  const { rows } = await client.query<{ email: string }>('delete from people where id = $1 returning email', [
    personId,
  ]);
  const [person] = rows;
  if (!person) return false;
  // Mails with password links and invitations are sent to addresses.
  await client.query(`delete from outbox where channel = 'mail' and recipient = $1`, [person.email]);
  await client.query('delete from invitations where email = $1', [person.email]);
  // Mails to others name who has invited them, or connected a program.
  await client.query(
    `update outbox set payload = replace(payload, $1, '"a deleted profile"') where channel = 'mail' and strpos(payload, $1) > 0`,
    [JSON.stringify(person.email)],
  );
  return true;
}
