import { testAccountOf } from '../../accounts/authentication.ts';
import type { Database } from '../../platform/db/pool.ts';

/** What the export of the data of an account or person has of a table, and what the erasure does with it. */
interface OwnedTable {
  /** The section of the export, or why the table is not exported. */
  exported: { section: string; omit?: readonly string[] } | { not: string };
  /** `pseudonym`: the columns that tell something about a person are emptied. */
  erasure: 'deleted' | 'pseudonym' | { kept: string };
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
    exported: { section: 'profile', omit: ['pack_minute_start', 'pack_minute_used'] },
    erasure: 'pseudonym',
    key: ID,
    where: 'id = $1',
  },
  members: { exported: { section: 'members' }, erasure: 'deleted', key: { person_id: 'bigint' } },
  invitations: { exported: { section: 'invitations', omit: ['token_hash'] }, erasure: 'deleted', key: ID },
  web_sessions: {
    exported: { not: 'sessions belong to people' },
    erasure: { kept: 'sessions belong to people; they have no access to an erased account' },
    key: { token_hash: 'bytea' },
  },
  key_periods: {
    exported: { section: 'keyUse' },
    erasure: 'deleted',
    key: { key_id: 'bigint', period: 'text', starts_at: 'timestamptz' },
    where: 'key_id in (select id from api_keys where account_id = $1)',
  },
  oauth_records: {
    exported: { section: 'connectionTokens', omit: TOKENS },
    erasure: 'deleted',
    key: TOKEN_KEY,
    where: `grant_id in (select grant_id from connections where ${OF_KEYS('account_id = $1')})`,
  },
  connections: {
    exported: { section: 'connections', omit: ['grant_id'] },
    erasure: 'deleted',
    key: { key_id: 'bigint' },
    where: OF_KEYS('account_id = $1'),
  },
  api_keys: {
    exported: { section: 'keys', omit: ['hash', 'session'] },
    erasure: 'deleted',
    key: ID,
    where: "account_id = $1 and purpose = 'customer'",
  },
  mail_choices: {
    exported: { section: 'noticeChoices', omit: ['unsubscribe_key'] },
    erasure: 'deleted',
    key: { person_id: 'bigint' },
  },
  packs: { exported: { section: 'packs' }, erasure: { kept: BOOKS }, key: ID },
  subscriptions: { exported: { section: 'subscriptions' }, erasure: { kept: BOOKS }, key: ID },
  orders: { exported: { section: 'purchases' }, erasure: { kept: BOOKS }, key: UUID },
  price_reductions: { exported: { section: 'discounts' }, erasure: 'deleted', key: ID },
  renewing_plans: { exported: { section: 'renewingPlans' }, erasure: { kept: BOOKS }, key: { id: 'text' } },
  stripe_payments: { exported: { section: 'payments' }, erasure: { kept: BOOKS }, key: { id: 'text' } },
  auto_top_ups: { exported: { section: 'autoTopUps' }, erasure: 'deleted', key: { account_id: 'bigint' } },
  stripe_customers: {
    exported: { section: 'paymentCustomer' },
    erasure: 'deleted',
    key: { account_id: 'bigint' },
  },
  ledger: { exported: { section: 'ledger' }, erasure: { kept: BOOKS }, key: ID },
  usage_days: {
    exported: { section: 'usage' },
    erasure: { kept: BOOKS },
    key: { day: 'date', operation: 'text', key_id: 'bigint' },
    // The index starts with the day: without the days, PostgreSQL before 18 would read the days of all accounts.
    where:
      'account_id = $1 and day = any(array(select current_date - n from generate_series(-1, 3660) as n))',
  },
  unit_days: {
    exported: { not: 'sums of the ledger, for the operator' },
    erasure: { kept: BOOKS },
    key: { source_id: 'bigint' },
  },
  token_days: {
    exported: { not: 'tokens of the data provider, for the operator' },
    erasure: { kept: BOOKS },
    key: { day: 'date', operation: 'text' },
  },
  open_calls: {
    exported: { section: 'openCalls', omit: ['claim_key', 'draws'] },
    // They are cancelled, and become finished calls.
    erasure: 'pseudonym',
    key: UUID,
  },
  finished_calls: {
    exported: { section: 'calls', omit: ['claim_key', 'answer'] },
    erasure: 'pseudonym',
    key: UUID,
  },
  book_faults: {
    exported: { not: 'findings of an audit, which concern the operator' },
    erasure: 'deleted',
    key: { promise: 'text' },
  },
  call_webhooks: {
    exported: { section: 'callWebhooks' },
    erasure: 'deleted',
    key: { call_id: 'uuid', url: 'text' },
  },
  call_webhook_counts: { exported: { not: 'a counter' }, erasure: 'deleted', key: { call_id: 'uuid' } },
  result_links: {
    exported: { section: 'resultLinks', omit: ['token_hash'] },
    erasure: 'deleted',
    key: UUID,
  },
  chart_links: {
    exported: { section: 'chartLinks', omit: ['token_hash'] },
    erasure: 'deleted',
    key: UUID,
  },
  account_notes: { exported: { not: 'notes of the operator' }, erasure: 'deleted', key: ID },
  files: { exported: { section: 'files', omit: ['content_id'] }, erasure: 'deleted', key: UUID },
  batch_calls: {
    exported: { not: 'the API returns items and results' },
    erasure: 'deleted',
    key: { batch_id: 'uuid', first_item: 'integer' },
    where: 'batch_id in (select id from batches where account_id = $1)',
  },
  batches: { exported: { section: 'batches', omit: ['request_hash'] }, erasure: 'deleted', key: UUID },
  tracker_alerts: {
    exported: { section: 'trackerAlerts' },
    erasure: 'deleted',
    key: UUID,
    where: `tracker_id in (${OF_SCHEDULES})`,
  },
  tracker_states: {
    exported: { section: 'trackerStates' },
    erasure: 'deleted',
    key: { tracker_id: 'uuid', item: 'text' },
    where: `tracker_id in (${OF_SCHEDULES})`,
  },
  trackers: {
    exported: { section: 'trackers', omit: ['chat'] },
    erasure: 'deleted',
    key: UUID,
    where: `id in (${OF_SCHEDULES})`,
  },
  schedule_runs: {
    exported: { section: 'scheduleRuns' },
    erasure: 'deleted',
    key: UUID,
    where: `schedule_id in (${OF_SCHEDULES})`,
  },
  schedule_contents: {
    exported: { not: 'digests' },
    erasure: 'deleted',
    key: { item_hash: 'bytea' },
    where: `schedule_id in (${OF_SCHEDULES})`,
  },
  schedules: { exported: { section: 'schedules', omit: ['items'] }, erasure: 'deleted', key: UUID },
  outbox_attempts: {
    exported: { section: 'messageAttempts' },
    erasure: 'deleted',
    key: { message_id: 'uuid', number: 'integer' },
    where: `message_id in (${OF_MESSAGES})`,
  },
  outbox: {
    exported: { section: 'messages', omit: ['cause', 'shown_text', 'claimed_until', 'expires_at'] },
    erasure: 'deleted',
    key: UUID,
  },
  webhook_secrets: { exported: { section: 'webhookSecrets', omit: ['secret'] }, erasure: 'deleted', key: ID },
  failures: { exported: { not: 'causes of failures, for the operator' }, erasure: 'deleted', key: ID },
  audit_log: {
    exported: { not: 'owners and admins download it as a table or JSON' },
    erasure: { kept: 'what was done, under the numbers of people and keys' },
    key: ID,
  },
};

/** Every table with data of a person. A test compares the list with the schema. */
export const PERSON_TABLES: Readonly<Record<string, OwnedTable>> = {
  people: { exported: { section: 'profile' }, erasure: 'deleted', key: ID, where: 'id = $1' },
  members: {
    exported: { section: 'memberships' },
    erasure: 'deleted',
    key: { account_id: 'bigint' },
    where: OF_PERSON,
  },
  web_sessions: {
    exported: { section: 'sessions', omit: ['token_hash'] },
    erasure: 'deleted',
    key: { token_hash: 'bytea' },
    where: OF_PERSON,
  },
  passwords: { exported: { not: 'a digest' }, erasure: 'deleted', key: { person_id: 'bigint' } },
  password_resets: { exported: { not: 'a digest' }, erasure: 'deleted', key: { token_hash: 'bytea' } },
  pending_sign_ins: { exported: { not: 'a digest' }, erasure: 'deleted', key: { token_hash: 'bytea' } },
  recovery_codes: { exported: { not: 'a digest' }, erasure: 'deleted', key: { hash: 'bytea' } },
  two_factor: { exported: { not: 'a secret' }, erasure: 'deleted', key: { person_id: 'bigint' } },
  email_confirmations: {
    exported: { section: 'emailChanges', omit: ['token_hash'] },
    erasure: 'deleted',
    key: { token_hash: 'bytea' },
    where: OF_PERSON,
  },
  mail_choices: {
    exported: { section: 'noticeChoices', omit: ['unsubscribe_key'] },
    erasure: 'deleted',
    key: { account_id: 'bigint' },
    where: OF_PERSON,
  },
  outbox: {
    exported: { section: 'mails', omit: ['cause', 'shown_text', 'claimed_until', 'expires_at'] },
    erasure: 'deleted',
    key: UUID,
    where: OF_PERSON,
  },
  invitations: {
    exported: { section: 'invitations', omit: ['token_hash'] },
    erasure: 'deleted',
    key: ID,
    where: 'email = (select email from people where id = $1)',
  },
  oauth_records: {
    exported: { section: 'connectionTokens', omit: TOKENS },
    erasure: 'deleted',
    key: TOKEN_KEY,
    where: `grant_id in (select grant_id from connections where ${OF_KEYS(OF_PERSON)})`,
  },
  result_links: {
    exported: { section: 'resultLinks', omit: ['token_hash'] },
    erasure: 'deleted',
    key: UUID,
    where: OF_PERSON,
  },
  chart_links: {
    exported: { section: 'chartLinks', omit: ['token_hash'] },
    erasure: 'deleted',
    key: UUID,
    where: OF_PERSON,
  },
  connections: {
    exported: { section: 'connections', omit: ['grant_id'] },
    erasure: {
      kept: 'connections belong to their account; they are revoked, and who connected is forgotten',
    },
    key: { key_id: 'bigint' },
    where: OF_KEYS(OF_PERSON),
  },
  api_keys: {
    exported: { section: 'createdKeys', omit: ['hash', 'session'] },
    erasure: { kept: 'keys belong to their account; who created them is forgotten' },
    key: ID,
    where: `${OF_PERSON} and purpose = 'customer'`,
  },
  audit_log: {
    exported: { section: 'acts' },
    erasure: { kept: 'what was done, under the number of the person' },
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
    if ('not' in table.exported) continue;
    yield `${separator}"${table.exported.section}":[`;
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
  const omit = 'section' in table.exported ? (table.exported.omit ?? []) : [];
  let cursor: string | null = null;
  for (;;) {
    const { rows }: { rows: { row: string; cursor: string }[] } = await database.query(
      `select (to_jsonb(t) - $3::text[])::text as row, jsonb_build_array(${columns})::text as cursor
       from ${name} t where ${rowsOf(table)} and ($2::jsonb is null or (${columns}) > (${after}))
       order by ${columns} limit ${PAGE_ROWS}`,
      [ownerId, cursor, omit],
    );
    if (rows.length > 0) yield rows.map(({ row }) => row);
    cursor = rows.at(-1)?.cursor ?? null;
    if (rows.length < PAGE_ROWS) return;
  }
}
