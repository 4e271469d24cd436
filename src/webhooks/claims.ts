import type { Database } from '../platform/db/pool.ts';

/** A delivery that only this process may send, until `claimedUntil`. */
export interface ClaimedDelivery {
  id: string;
  accountId: number;
  url: string;
  host: string;
  payload: string;
  /** How many attempts of the present schedule have failed. */
  retries: number;
  claimedUntil: Date;
}

/**
 * A claim ends after this time unless the attempt ends before. It is much longer than the timeout of an attempt.
 */
export const CLAIM_MS = 60_000;

/** How many deliveries a process sends at the same time: in total, to one host, and for one account. */
export interface SendingLimits {
  atOnce: number;
  perHost: number;
  perAccount: number;
}

/** Limits apply to an account and a host. */
type Lane = Pick<ClaimedDelivery, 'accountId' | 'host'>;

/**
 * Claims due deliveries, in turn between accounts, within the limits and without those under way. Concurrent processes
 * claim different deliveries.
 */
export async function claimDue(
  database: Database,
  underWay: readonly Lane[],
  limits: SendingLimits,
  now: number,
): Promise<ClaimedDelivery[]> {
  const due = await firstDue(database, limits.perHost, now);
  const chosen = chooseWithin(limits, underWay, due);
  if (chosen.length === 0) return [];
  const { rows } = await database.query<ClaimedDelivery>({
    name: 'claim-deliveries',
    text: `update webhook_deliveries d set claimed_until = $3
      from (select id from webhook_deliveries
        where id = any($1) and state = 'pending' and next_attempt_at <= $2
          and (claimed_until is null or claimed_until <= $2)
        for update skip locked) as free
      where d.id = free.id
      returning d.id, d.account_id as "accountId", d.url, d.host, d.payload, d.retries,
        d.claimed_until as "claimedUntil"`,
    values: [chosen.map(({ id }) => id), new Date(now), new Date(now + CLAIM_MS)],
  });
  return rows;
}

/**
 * Returns the first due deliveries of each account and host, the longest due first. It takes one index step for
 * each pair with pending deliveries, so a long queue of one account does not delay the others.
 */
async function firstDue(database: Database, ofEach: number, now: number): Promise<(Lane & { id: string })[]> {
  const { rows } = await database.query<Lane & { id: string }>({
    name: 'due-deliveries',
    text: `with recursive lanes as (
        (select account_id, host from webhook_deliveries where state = 'pending' order by account_id, host limit 1)
        union all
        select n.account_id, n.host from lanes l cross join lateral (
          select d.account_id, d.host from webhook_deliveries d
          where d.state = 'pending' and (d.account_id, d.host) > (l.account_id, l.host)
          order by d.account_id, d.host limit 1) as n
      )
      select d.id, d.account_id as "accountId", d.host from lanes l cross join lateral (
        select d.id, d.account_id, d.host, d.next_attempt_at from webhook_deliveries d
        where d.state = 'pending' and d.account_id = l.account_id and d.host = l.host
          and d.next_attempt_at <= $1 and (d.claimed_until is null or d.claimed_until <= $1)
        order by d.next_attempt_at limit $2) as d
      order by d.next_attempt_at, d.id`,
    values: [new Date(now), ofEach],
  });
  return rows;
}

/**
 * Selects deliveries of `due` that fit the limits: first those of accounts with the fewest under way to the host, then those
 * of accounts with the fewest under way, then the longest due. So a long queue of one account does not delay others.
 */
function chooseWithin<Due extends Lane>(
  { atOnce, perHost, perAccount }: SendingLimits,
  underWay: readonly Lane[],
  due: readonly Due[],
): Due[] {
  const counts = new Map<string | number, number>();
  const countOf = (key: string | number) => counts.get(key) ?? 0;
  const laneOf = ({ accountId, host }: Lane) => `${accountId} ${host}`;
  const count = (lane: Lane) => {
    for (const key of [lane.host, lane.accountId, laneOf(lane)]) counts.set(key, countOf(key) + 1);
  };
  const isFull = ({ host, accountId }: Lane) => countOf(host) >= perHost || countOf(accountId) >= perAccount;
  const goesBefore = (a: Lane, b: Lane) => {
    const byLane = countOf(laneOf(a)) - countOf(laneOf(b));
    return byLane < 0 || (byLane === 0 && countOf(a.accountId) < countOf(b.accountId));
  };
  underWay.forEach(count);
  const waiting = new Set(due);
  const chosen: Due[] = [];
  while (chosen.length < atOnce - underWay.length) {
    let next: Due | null = null;
    for (const delivery of waiting) {
      if (isFull(delivery)) waiting.delete(delivery);
      else if (next === null || goesBefore(delivery, next)) next = delivery;
    }
    if (next === null) break;
    waiting.delete(next);
    count(next);
    chosen.push(next);
  }
  return chosen;
}
