import type { Queryable } from '../../platform/db/pool.ts';
import { type AccountNotice, queueMail } from './mails.ts';

/** The most notices of a query that are queued together. The rest follows the next time. */
const MOST_AT_ONCE = 500;

/**
 * Queues the notices that have become due, each once for its cause. Only live and active accounts get notices, and where mails
 * are sent, only those with a member who has confirmed the address. Mails about new keys and connections go to each address.
 * @returns how many.
 */
export async function queueDueNotices(
  database: Queryable,
  { needsConfirmed, now }: { needsConfirmed: boolean; now: number },
): Promise<number> {
  let queued = 0;
  for (const [name, query] of Object.entries(QUERIES)) {
    const { rows } = await database.query<AccountNotice>({
      name: `due-notices-${name}`,
      text: `select d.account_id as "accountId", d.kind, d.facts from (${query}) as d join accounts a on a.id = d.account_id
        where $1::timestamptz is not null and a.state = 'active' and a.live_account_id is null and (not $2 or d.kind in ('key_created', 'connection_created') or exists (
            select from members m join people p on p.id = m.person_id where m.account_id = a.id and p.email_confirmed_at is not null))
          and not exists (select from members r join outbox m
            on m.cause = d.kind || ' ' || d.account_id || ' ' || d.cause || ' to person ' || r.person_id where r.account_id = d.account_id)
        limit $3`,
      values: [new Date(now), needsConfirmed, MOST_AT_ONCE],
    });
    for (const notice of rows) await queueMail(database, notice, now);
    queued += rows.length;
  }
  return queued;
}

/** Units are low when at most this share is left. */
const LOW_SHARE = 0.2;

const kindOf = (remaining: string) => `case when ${remaining} <= 0 then 'units_empty' else 'units_low' end`;

/** The packs of a wallet together. Once for each of the two shares and each newest pack. */
const PACK_UNITS = `
  select account_id, ${kindOf('remaining')} as kind, 'packs-' || wallet || ' ' || newest as cause,
    json_build_object('source', 'packs-' || wallet, 'period', newest::text, 'remaining', remaining, 'total', total,
      'of', case wallet when 'general' then 'your packs' else 'your off-peak packs' end) as facts
  from (
    select account_id, wallet, max(id) as newest, sum(remaining_units)::bigint as remaining, sum(total_units)::bigint as total
    from packs where valid_from <= $1::timestamptz and valid_until > $1::timestamptz group by account_id, wallet
  ) as p where remaining <= ${LOW_SHARE} * total`;

/** The present month of a subscription, once for each of the two shares and each month. */
const PLAN_UNITS = `
  select account_id, ${kindOf('remaining')} as kind, 'plan-' || id || ' ' || month as cause,
    json_build_object('source', 'plan-' || id, 'period', month, 'remaining', remaining, 'total', total,
      'of', 'this month of your plan ' || name) as facts
  from (
    select s.id, s.account_id, p.name, to_char(s.month_start at time zone 'UTC', 'YYYY-MM-DD') as month,
      p.monthly_limit * s.quantity as total, greatest(0, p.monthly_limit * s.quantity - s.month_used) as remaining
    from subscriptions s join plans p on p.id = s.plan_id
    where s.starts_at <= $1::timestamptz and s.ends_at > $1::timestamptz and s.month_start <= $1::timestamptz and s.month_end > $1::timestamptz and p.monthly_limit is not null
  ) as s where remaining <= ${LOW_SHARE} * total`;

/** Subscriptions without a successor in their wallet, and which Stripe does not renew, 7 days and 1 day before their end. */
const PLAN_ENDS = `
  select account_id, 'plan_ends' as kind, id || ' ' || ends || ' ' || days as cause,
    json_build_object('subscriptionId', id, 'plan', name, 'endsAt', ends, 'days', days) as facts
  from (
    select s.id, s.account_id, p.name, to_char(s.ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as ends,
      case when s.ends_at <= $1::timestamptz + interval '1 day' then 1 else 7 end as days
    from subscriptions s join plans p on p.id = s.plan_id
    where s.starts_at <= $1::timestamptz and s.ends_at > $1::timestamptz and s.ends_at <= $1::timestamptz + interval '7 days'
      and not exists (
        select from subscriptions n
        where n.account_id = s.account_id and n.wallet = s.wallet and n.starts_at <= s.ends_at and n.ends_at > s.ends_at)
      and not exists (
        select from renewing_plans r
        where r.account_id = s.account_id and r.wallet = s.wallet and r.state in ('active', 'past_due'))
  ) as s`;

/** Keys that were created within a day, on a page, by the API or by the operator. */
const KEY_CREATED = `
  select account_id, 'key_created' as kind, prefix || ' ' || at as cause,
    json_build_object('prefix', prefix, 'at', at) as facts
  from (
    select account_id, prefix, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at
    from api_keys
    where purpose = 'customer' and created_at between $1::timestamptz - interval '1 day' and $1::timestamptz
      and not exists (select from connections c where c.key_id = api_keys.id)
  ) as k`;

/** Connections that were created within a day. */
const CONNECTION_CREATED = `
  select account_id, 'connection_created' as kind, id || ' ' || at as cause,
    json_build_object('at', at, 'keyId', id, 'client', client_name, 'host', redirect_host, 'person', person, 'scopes', scopes,
      'capDay', cap_day, 'capMonth', cap_month, 'endsAt', ends_at) as facts
  from (
    select k.id, k.account_id, c.client_name, c.redirect_host, p.email as person, k.scopes, k.cap_day, k.cap_month,
      to_char(k.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at,
      to_char(k.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as ends_at
    from connections c join api_keys k on k.id = c.key_id left join people p on p.id = k.person_id
    where k.created_at between $1::timestamptz - interval '1 day' and $1::timestamptz
  ) as n`;

/** Valid keys whose last use, or creation, was 90 days ago. Older ones are left out, so that mails begin without a flood. */
const KEY_UNUSED = `
  select account_id, 'key_unused' as kind, id || ' ' || since as cause,
    json_build_object('keyId', id, 'prefix', prefix, 'client', client, 'since', since, 'lastUsedAt',
      to_char(last_used_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) as facts
  from (
    select id, account_id, prefix, last_used_at,
      (select client_name from connections c where c.key_id = api_keys.id) as client,
      to_char(coalesce(last_used_at, created_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
    from api_keys
    where purpose = 'customer' and revoked_at is null and (expires_at is null or expires_at > $1::timestamptz)
      and coalesce(last_used_at, created_at) between $1::timestamptz - interval '97 days' and $1::timestamptz - interval '90 days'
  ) as k`;

const BAD_IN_SERIES = 3;

/** The runs of a schedule that are examined. */
const RUNS_EXAMINED = 50;

/** Whether a run has ended well. null: it has not ended, or was left out because the run before had not ended. */
const IS_GOOD = `case
    when state = 'skipped' and reason = 'The previous run has not finished.' then null
    when state <> 'started' then false
    else succeeded
  end`;

const runsOf = (limit: number) => `
  select id::text as id, coalesce(reason, 'No item has a result.') as reason, ${IS_GOOD} as good
  from schedule_runs where schedule_id = s.id order by schedule_runs.id desc limit ${limit}`;

/**
 * Schedules whose last three ended runs have failed, once for each series of failures. Schedules whose last run was good take
 * one index step. The ids of runs increase with time. A tracker with a screen has no pattern and no next time.
 */
const SCHEDULE_FAILING = `
  select s.account_id, 'schedule_failing' as kind, s.id || ' ' || f.since as cause,
    json_build_object('scheduleId', s.id, 'name', s.name, 'isTracker', exists (select from trackers t where t.id = s.id),
      'since', f.since, 'reason', f.reason) as facts
  from schedules s
  cross join lateral (select bool_or(good) as good from (${runsOf(1)}) as r) as l
  cross join lateral (
    select min(e.id) as since, count(*) as bad, (array_agg(e.reason order by e.id desc))[1] as reason, min(e.good_id) as good_id,
      min(e.examined) as examined
    from (
      select r.*, max(id) filter (where good) over () as good_id, count(*) over () as examined
      from (${runsOf(RUNS_EXAMINED)}) as r
    ) as e
    where good is false and (good_id is null or e.id > good_id)
  ) as f
  where (s.next_due_at is not null or s.cron = '' and not s.paused) and l.good is distinct from true and f.bad >= ${BAD_IN_SERIES}
    and (f.good_id is not null or f.examined < ${RUNS_EXAMINED})`;

/** Schedules with a run that waits for units, once a week. */
const SCHEDULE_WAITS = `
  select s.account_id, 'schedule_waits' as kind, s.id || ' ' || w.week as cause,
    json_build_object('scheduleId', s.id, 'name', s.name, 'isTracker', exists (select from trackers t where t.id = s.id),
      'since', w.week) as facts
  from (
    select distinct schedule_id, to_char($1::timestamptz at time zone 'UTC', 'IYYY-IW') as week from batches
    where finished_at is null and schedule_id is not null and waiting_until > $1
      and waiting_reason in ('QUOTA_NO_SUBSCRIPTION', 'QUOTA_DAILY_EXCEEDED', 'QUOTA_MONTHLY_EXCEEDED', 'QUOTA_PACK_EXHAUSTED',
        'QUOTA_INSUFFICIENT_UNITS')
  ) as w join schedules s on s.id = w.schedule_id`;

/**
 * The queries that find due notices. `$1` is the present time. Each returns `account_id`, `kind`, `facts` and the unique part of
 * the `cause`, as `causeOf` of the kind makes it from the facts.
 */
const QUERIES = {
  PACK_UNITS,
  PLAN_UNITS,
  PLAN_ENDS,
  KEY_CREATED,
  CONNECTION_CREATED,
  KEY_UNUSED,
  SCHEDULE_FAILING,
  SCHEDULE_WAITS,
};
