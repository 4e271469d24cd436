import type { Queryable } from '../../platform/db/pool.ts';
import { type Notice, queueNotice } from '../queue.ts';
import { KEY_CREATED, KEY_UNUSED } from './keys.ts';
import { PLAN_ENDS } from './plan-ends.ts';
import { SCHEDULE_FAILING, SCHEDULE_WAITS } from './schedules.ts';
import { PACK_UNITS, PLAN_UNITS } from './units.ts';

/**
 * The queries that find due notices. `$1` is the present time. Each returns `account_id`, `kind`, `facts` and the unique part of
 * the `cause`, as `causeOf` of the kind makes it from the facts.
 */
const QUERIES = {
  PACK_UNITS,
  PLAN_UNITS,
  PLAN_ENDS,
  KEY_CREATED,
  KEY_UNUSED,
  SCHEDULE_FAILING,
  SCHEDULE_WAITS,
};

/** The most notices of a query that are queued together. The rest follows the next time. */
const MOST_AT_ONCE = 500;

/**
 * Queues the notices that have become due, each once for its cause. Only live and active accounts get notices, and where mails
 * are sent, only those with a confirmed address. Mails about new keys go to each address.
 * @returns how many.
 */
export async function queueDueNotices(
  database: Queryable,
  { needsConfirmed, now }: { needsConfirmed: boolean; now: number },
): Promise<number> {
  let queued = 0;
  for (const [name, query] of Object.entries(QUERIES)) {
    const { rows } = await database.query<Notice>({
      name: `due-notices-${name}`,
      text: `select d.account_id as "accountId", d.kind, d.facts from (${query}) as d join accounts a on a.id = d.account_id
        where $1::timestamptz is not null and a.state = 'active' and a.live_account_id is null and (a.email_confirmed_at is not null or not $2 or d.kind = 'key_created')
          and not exists (select from mails m where m.cause = d.kind || ' ' || d.account_id || ' ' || d.cause)
        limit $3`,
      values: [new Date(now), needsConfirmed, MOST_AT_ONCE],
    });
    for (const notice of rows) await queueNotice(database, notice, now);
    queued += rows.length;
  }
  return queued;
}
