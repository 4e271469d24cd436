import { testAccountOf } from '../../accounts/authentication.ts';
import type { Database } from '../../platform/db/pool.ts';

/** What the export of the data of an account or person has of a table, and what the erasure does with it. */
interface OwnedTable {
  /** The section of the export. */
  section?: string;
  /** Columns that are not exported. */
  omit?: readonly string[];
  /** Why the table is not exported. */
  hidden?: string;
  /** Why its rows are kept. Default: they are deleted. */
  kept?: string;
  /** Its rows are kept, and the columns that tell something about a person are emptied. */
  isEmptied?: true;
  /** The columns that order its rows, with their types. */
  key: Readonly<Record<string, string>>;
  /** The rows of the account or person $1. Default: by account_id. */
  where?: string;
}

const ID = { id: 'bigint' };
const UUID = { id: 'uuid' };
const BOOKS = 'book-keeping: numbers and dates, under the number of the account';

const OF_SCHEDULES = 'select id from schedules where account_id = $1';
const OF_PERSON = 'person_id = $1';
const OF_KEYS = (owner: string) =>
  `key_id in (select id from api_keys where ${owner} and purpose = 'customer')`;
/** Secrets of the authorization server, and what it needs to continue. */
const TOKENS = ['id', 'payload', 'grant_id', 'user_code', 'uid'];
const TOKEN_KEY = { kind: 'text', id: 'bytea' };
const OF_MESSAGES = 'select id from outbox where account_id = $1';

/**
 * Every table with data of an account, in the order of its deletion. A test compares the list with the schema. The contents of
 * batches and schedules (items and results) are not exported, because the API returns them.
 */
export const ACCOUNT_TABLES: Readonly<Record<string, OwnedTable>> = {
  accounts: {
    section: 'profile',
    omit: ['pack_minute_start', 'pack_minute_used'],
    isEmptied: true,
    key: ID,
    where: 'id = $1',
  },
  members: { section: 'members', key: { person_id: 'bigint' } },
  invitations: { section: 'invitations', omit: ['token_hash'], key: ID },
  web_sessions: {
    hidden: 'sessions belong to people',
    kept: 'sessions belong to people; they have no access to an erased account',
    key: { token_hash: 'bytea' },
  },
  key_periods: {
    section: 'keyUse',
    key: { key_id: 'bigint', period: 'text', starts_at: 'timestamptz' },
    where: 'key_id in (select id from api_keys where account_id = $1)',
  },
  oauth_records: {
    section: 'connectionTokens',
    omit: TOKENS,
    key: TOKEN_KEY,
    where: `grant_id in (select grant_id from connections where ${OF_KEYS('account_id = $1')})`,
  },
  connections: {
    section: 'connections',
    omit: ['grant_id'],
    key: { key_id: 'bigint' },
    where: OF_KEYS('account_id = $1'),
  },
  api_keys: {
    section: 'keys',
    omit: ['hash', 'session'],
    key: ID,
    where: "account_id = $1 and purpose = 'customer'",
  },
  mail_choices: { section: 'noticeChoices', omit: ['unsubscribe_key'], key: { person_id: 'bigint' } },
  packs: { section: 'packs', kept: BOOKS, key: ID },
  subscriptions: { section: 'subscriptions', kept: BOOKS, key: ID },
  orders: { section: 'purchases', kept: BOOKS, key: UUID },
  price_reductions: { section: 'discounts', key: ID },
  renewing_plans: { section: 'renewingPlans', kept: BOOKS, key: { id: 'text' } },
  stripe_payments: { section: 'payments', kept: BOOKS, key: { id: 'text' } },
  auto_top_ups: { section: 'autoTopUps', key: { account_id: 'bigint' } },
  stripe_customers: { section: 'paymentCustomer', key: { account_id: 'bigint' } },
  ledger: { section: 'ledger', kept: BOOKS, key: ID },
  usage_days: {
    section: 'usage',
    kept: BOOKS,
    key: { day: 'date', operation: 'text', key_id: 'bigint' },
    // The index starts with the day: without the days, PostgreSQL before 18 would read the days of all accounts.
    where:
      'account_id = $1 and day = any(array(select current_date - n from generate_series(-1, 3660) as n))',
  },
  unit_days: { hidden: 'sums of the ledger, for the operator', kept: BOOKS, key: { source_id: 'bigint' } },
  token_days: {
    hidden: 'tokens of the data provider, for the operator',
    kept: BOOKS,
    key: { day: 'date', operation: 'text' },
  },
  open_calls: {
    section: 'openCalls',
    omit: ['claim_key', 'draws'],
    // They are cancelled, and become finished calls.
    isEmptied: true,
    key: UUID,
  },
  finished_calls: { section: 'calls', omit: ['claim_key', 'answer'], isEmptied: true, key: UUID },
  book_faults: { hidden: 'findings of an audit, which concern the operator', key: { promise: 'text' } },
  call_webhooks: { section: 'callWebhooks', key: { call_id: 'uuid', url: 'text' } },
  call_webhook_counts: { hidden: 'a counter', key: { call_id: 'uuid' } },
  result_links: { section: 'resultLinks', omit: ['token_hash'], key: UUID },
  chart_links: { section: 'chartLinks', omit: ['token_hash'], key: UUID },
  account_notes: { hidden: 'notes of the operator', key: ID },
  files: { section: 'files', omit: ['content_id'], key: UUID },
  batch_calls: {
    hidden: 'the API returns items and results',
    key: { batch_id: 'uuid', first_item: 'integer' },
    where: 'batch_id in (select id from batches where account_id = $1)',
  },
  batches: { section: 'batches', omit: ['request_hash'], key: UUID },
  tracker_alerts: { section: 'trackerAlerts', key: UUID, where: `tracker_id in (${OF_SCHEDULES})` },
  tracker_states: {
    section: 'trackerStates',
    key: { tracker_id: 'uuid', item: 'text' },
    where: `tracker_id in (${OF_SCHEDULES})`,
  },
  trackers: { section: 'trackers', omit: ['chat'], key: UUID, where: `id in (${OF_SCHEDULES})` },
  schedule_runs: { section: 'scheduleRuns', key: UUID, where: `schedule_id in (${OF_SCHEDULES})` },
  schedule_contents: {
    hidden: 'digests',
    key: { item_hash: 'bytea' },
    where: `schedule_id in (${OF_SCHEDULES})`,
  },
  schedules: { section: 'schedules', omit: ['items'], key: UUID },
  outbox_attempts: {
    section: 'messageAttempts',
    key: { message_id: 'uuid', number: 'integer' },
    where: `message_id in (${OF_MESSAGES})`,
  },
  outbox: { section: 'messages', omit: ['cause', 'shown_text', 'claimed_until', 'expires_at'], key: UUID },
  webhook_secrets: { section: 'webhookSecrets', omit: ['secret'], key: ID },
  failures: { hidden: 'causes of failures, for the operator', key: ID },
  audit_log: {
    hidden: 'owners and admins download it as a table or JSON',
    kept: 'what was done, under the numbers of people and keys',
    key: ID,
  },
};

/** Every table with data of a person. A test compares the list with the schema. */
export const PERSON_TABLES: Readonly<Record<string, OwnedTable>> = {
  people: { section: 'profile', key: ID, where: 'id = $1' },
  members: { section: 'memberships', key: { account_id: 'bigint' }, where: OF_PERSON },
  web_sessions: { section: 'sessions', omit: ['token_hash'], key: { token_hash: 'bytea' }, where: OF_PERSON },
  passwords: { hidden: 'a digest', key: { person_id: 'bigint' } },
  password_resets: { hidden: 'a digest', key: { token_hash: 'bytea' } },
  pending_sign_ins: { hidden: 'a digest', key: { token_hash: 'bytea' } },
  recovery_codes: { hidden: 'a digest', key: { hash: 'bytea' } },
  two_factor: { hidden: 'a secret', key: { person_id: 'bigint' } },
  email_confirmations: {
    section: 'emailChanges',
    omit: ['token_hash'],
    key: { token_hash: 'bytea' },
    where: OF_PERSON,
  },
  mail_choices: {
    section: 'noticeChoices',
    omit: ['unsubscribe_key'],
    key: { account_id: 'bigint' },
    where: OF_PERSON,
  },
  outbox: {
    section: 'mails',
    omit: ['cause', 'shown_text', 'claimed_until', 'expires_at'],
    key: UUID,
    where: OF_PERSON,
  },
  invitations: {
    section: 'invitations',
    omit: ['token_hash'],
    key: ID,
    where: 'email = (select email from people where id = $1)',
  },
  oauth_records: {
    section: 'connectionTokens',
    omit: TOKENS,
    key: TOKEN_KEY,
    where: `grant_id in (select grant_id from connections where ${OF_KEYS(OF_PERSON)})`,
  },
  result_links: { section: 'resultLinks', omit: ['token_hash'], key: UUID, where: OF_PERSON },
  chart_links: { section: 'chartLinks', omit: ['token_hash'], key: UUID, where: OF_PERSON },
  connections: {
    section: 'connections',
    omit: ['grant_id'],
    kept: 'connections belong to their account; they are revoked, and who connected is forgotten',
    key: { key_id: 'bigint' },
    where: OF_KEYS(OF_PERSON),
  },
  api_keys: {
    section: 'createdKeys',
    omit: ['hash', 'session'],
    kept: 'keys belong to their account; who created them is forgotten',
    key: ID,
    where: `${OF_PERSON} and purpose = 'customer'`,
  },
  audit_log: {
    section: 'acts',
    kept: 'what was done, under the number of the person',
    key: ID,
    where: OF_PERSON,
  },
};

/** The condition of the rows of account or person $1. */
export function rowsOf({ where = 'account_id = $1' }: OwnedTable): string {
  return where;
}

const PAGE_ROWS = 500;

/**
 * Yields the data of an account as the pieces of one JSON document: a list for each section, without secrets. Rows are read in
 * pages, so memory stays bounded and no connection waits for a slow reader. The data of the test account is in `test`.
 */
export async function* exportAccount(
  database: Database,
  accountId: number,
  now: number,
): AsyncGenerator<string> {
  yield `{"accountId":${accountId},"exportedAt":"${new Date(now).toISOString()}","live":`;
  yield* sectionsOf(database, ACCOUNT_TABLES, accountId);
  yield ',"test":';
  yield* sectionsOf(database, ACCOUNT_TABLES, testAccountOf(accountId));
  yield '}\n';
}

/** Yields the data of a person as the pieces of one JSON document, without secrets. */
export async function* exportPerson(
  database: Database,
  personId: number,
  now: number,
): AsyncGenerator<string> {
  yield `{"personId":${personId},"exportedAt":"${new Date(now).toISOString()}","data":`;
  yield* sectionsOf(database, PERSON_TABLES, personId);
  yield '}\n';
}

async function* sectionsOf(
  database: Database,
  tables: Readonly<Record<string, OwnedTable>>,
  ownerId: number,
): AsyncGenerator<string> {
  let separator = '{';
  for (const [name, table] of Object.entries(tables)) {
    if (table.section === undefined) continue;
    yield `${separator}"${table.section}":[`;
    separator = ',';
    let isFirst = true;
    for await (const rows of pagesOf(database, name, table, ownerId)) {
      yield `${isFirst ? '' : ','}${rows.join(',\n')}`;
      isFirst = false;
    }
    yield ']';
  }
  yield '}';
}

/** Yields the rows of a table as JSON, page by page. */
async function* pagesOf(
  database: Database,
  name: string,
  table: OwnedTable,
  ownerId: number,
): AsyncGenerator<string[]> {
  const columns = Object.keys(table.key)
    .map((column) => `t.${column}`)
    .join(', ');
  const after = Object.values(table.key)
    .map((type, i) => `($2::jsonb ->> ${i})::${type}`)
    .join(', ');
  let cursor: string | null = null;
  for (;;) {
    const { rows }: { rows: { row: string; cursor: string }[] } = await database.query(
      `select (to_jsonb(t) - $3::text[])::text as row, jsonb_build_array(${columns})::text as cursor
       from ${name} t where ${rowsOf(table)} and ($2::jsonb is null or (${columns}) > (${after}))
       order by ${columns} limit ${PAGE_ROWS}`,
      [ownerId, cursor, table.omit ?? []],
    );
    if (rows.length > 0) yield rows.map(({ row }) => row);
    cursor = rows.at(-1)?.cursor ?? null;
    if (rows.length < PAGE_ROWS) return;
  }
}
