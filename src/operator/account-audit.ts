import { isTestAccount, testAccountOf } from '../accounts/authentication.ts';
import { columnsFrom } from '../operations/tables/columns.ts';
import type { Queryable } from '../platform/db/pool.ts';
import { ACCOUNT_ACTIONS, PAGE_LINES } from './audit.ts';

/** What people and keys do in an account, or the operator with it. */
export type AccountAction = keyof typeof ACCOUNT_ACTIONS;

export const ACCOUNT_ACTION_NAMES = Object.keys(ACCOUNT_ACTIONS) as [AccountAction, ...AccountAction[]];

/**
 * The most lines of a day (UTC) for the acts of a person on pages of accounts, and for the acts of all keys of an account. One
 * more line says that further acts are not listed.
 */
export const ACTS_A_DAY = 10_000;

const TODAY = `l.at >= date_trunc('day', now(), 'UTC') limit ${ACTS_A_DAY + 1}`;

/** Writes the line of an act $2 with its target $3. @param actor selects who acts, where and for which account. */
const writing = (actor: string) => `
  with actor as (${actor}),
  today as (
    select count(*) as lines from actor a cross join lateral (
      (select 1 from audit_log l where a.channel = 'api' and l.channel = 'api' and l.account_id = a.account_id and ${TODAY})
      union all
      (select 1 from audit_log l where a.channel = 'page' and l.channel = 'page' and l.person_id = a.person_id
         and a.account_id is not null and l.account_id is not null and ${TODAY})) as line)
  insert into audit_log (channel, operator, person_id, key_id, account_id, action, target)
  select channel, operator, person_id, key_id, account_id,
    case when lines = ${ACTS_A_DAY} then 'acts.omitted' else $2 end, case when lines < ${ACTS_A_DAY} then $3 end
  from actor, today where lines <= ${ACTS_A_DAY}`;

const WRITE_PAGE_ACT = writing(
  `select 'page' as channel, 'person ' || $1::bigint as operator, $1::bigint as person_id, null::bigint as key_id,
     $4::bigint as account_id`,
);

const WRITE_KEY_ACT = writing(
  `select case purpose when 'pages' then 'page' else 'api' end as channel,
     case purpose when 'pages' then 'person ' || person_id else 'key ' || id end as operator,
     case purpose when 'pages' then person_id end as person_id, case purpose when 'customer' then id end as key_id, account_id
   from api_keys where hash = $1`,
);

/** Writes the line of an act of a person on the pages. @param act.accountId null: the act is about the person alone. */
export async function writeAct(
  database: Queryable,
  personId: number,
  act: { accountId: number | null; action: AccountAction; target?: string | null },
): Promise<void> {
  const { accountId, action, target = null } = act;
  await database.query({
    name: 'write-page-act',
    text: WRITE_PAGE_ACT,
    values: [personId, action, target, accountId],
  });
}

/** Writes the line of an act by the API: of the person for whom the pages have called it, or of the key of a program. */
export async function writeKeyAct(
  database: Queryable,
  keyHash: Buffer,
  { action, target }: { action: AccountAction; target: string | null },
): Promise<void> {
  await database.query({ name: 'write-key-act', text: WRITE_KEY_ACT, values: [keyHash, action, target] });
}

/** A line as the members of an account see it. */
export interface AccountLine {
  id: number;
  at: Date;
  action: AccountAction;
  /** The address of a person, the start of a key and its name, the name of the program of a connection, or `operator`. */
  actor: string;
  /** The person who acted on the pages. */
  personId: number | null;
  /** The key with which a program acted. */
  keyId: number | null;
  target: string | null;
  /** Whether it was done in the test account. */
  isTest: boolean;
}

/** Selects lines; absent fields select all. */
export interface AccountFilter {
  action?: AccountAction | undefined;
  /** A part of the actor. */
  actor?: string | undefined;
  /** [from, to) */
  from?: Date | undefined;
  to?: Date | undefined;
}

/** The lines of a condition that the filter selects. Notes of the operator, and who acted for the operator, are left out. */
const lines = (where: string) => `
  select * from (
    select l.id, l.at, l.action, l.account_id,
      case when l.channel in ('console', 'command') then 'operator'
        else coalesce(p.email, c.client_name || ' (connection)', k.prefix || coalesce(' (' || k.name || ')', ''), l.operator) end as actor,
      case when l.channel = 'page' then l.person_id end as "personId", l.key_id as "keyId",
      coalesce(t.email || substring(l.target from '^person \\d+(.*)$'), l.target) as target
    from audit_log l
    left join people p on p.id = l.person_id
    left join api_keys k on k.id = l.key_id
    left join connections c on c.key_id = k.id
    left join people t on (l.channel <> 'page' or starts_with(l.action, 'member.')) and t.id = substring(l.target from '^person (\\d{1,15})')::bigint
    where ${where} and not starts_with(l.action, 'note.')) as line
  where ($3::text is null or action = $3) and ($4::timestamptz is null or at >= $4)
    and ($5::timestamptz is null or at < $5) and ($6::bigint is null or id < $6)
    and ($7::text is null or strpos(lower(actor), lower($7)) > 0)
  order by id desc limit $8`;

// Each part reads an index backwards and ends at the limit, however many lines other accounts have. The accounts are parameters,
// because for the column of another table PostgreSQL would expect many lines and read those of all accounts.
const SELECT_LINES = `
  select id, at, action, actor, "personId", "keyId", target, account_id is not null and account_id <> $1 as "isTest"
  from (
    (${lines('l.account_id = $1')})
    union all
    (${lines('l.account_id = $2')})
    union all
    select line.* from members m cross join lateral (${lines(
      "l.account_id is null and l.channel = 'page' and l.person_id = m.person_id and l.at >= m.created_at",
    )}) as line where m.account_id = $1) as found
  order by id desc limit $8`;

/**
 * Returns the lines of an account, the newest first: for a live account with those of its test account, and the acts of its
 * members about themselves since they joined.
 * @param before the last line of the previous page.
 */
export async function accountLines(
  database: Queryable,
  accountId: number,
  { action, actor, from, to }: AccountFilter,
  { before, limit }: { before?: number | null | undefined; limit: number },
): Promise<AccountLine[]> {
  const isTest = isTestAccount(accountId);
  const { rows } = await database.query<AccountLine>(SELECT_LINES, [
    accountId,
    isTest ? null : testAccountOf(accountId),
    action ?? null,
    from ?? null,
    to ?? null,
    before ?? null,
    actor || null,
    limit,
  ]);
  return rows.map((line) => ({ ...line, isTest: isTest || line.isTest }));
}

/** Yields the lines of an account page by page. */
export async function* allAccountLines(
  database: Queryable,
  accountId: number,
  filter: AccountFilter,
): AsyncGenerator<AccountLine> {
  let before: number | undefined;
  for (;;) {
    const found = await accountLines(database, accountId, filter, { before, limit: PAGE_LINES });
    yield* found;
    if (found.length < PAGE_LINES) return;
    before = found.at(-1)?.id;
  }
}

/** The columns of the audit log of an account. */
export const ACCOUNT_AUDIT_COLUMNS = columnsFrom({
  id: ['integer', 'Later lines have higher numbers'],
  at: ['time', 'When it was done'],
  action: ['text', 'What was done, such as key.created'],
  actor: ['text', 'Who did it: an e-mail address, a key, a connection, or operator'],
  personId: ['integer', 'Number of the person who acted on the pages'],
  keyId: ['integer', 'Number of the key with which a program acted'],
  target: ['text', 'What was changed'],
  isTest: ['boolean', 'Whether it was done in the test account'],
});
