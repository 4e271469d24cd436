import type { Database } from '../platform/db/pool.ts';
import { WEBHOOK_LIMITS } from './webhook-limits.ts';

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
  /** How many pending hosts of an account a claim considers. Default: twice as many as an account may have. */
  hostsPerAccount?: number;
}

/** Limits apply to an account and a host. */
type Lane = Pick<ClaimedDelivery, 'accountId' | 'host'>;

/**
 * Claims due deliveries within the limits and without those under way, first those of accounts with the fewest under way,
 * then those of accounts whose turn is longest ago. Concurrent processes claim different deliveries.
 * @param served the accounts of earlier claims, the latest last.
 */
export async function claimDue(
  database: Database,
  underWay: readonly Lane[],
  limits: SendingLimits,
  now: number,
  served: readonly number[] = [],
): Promise<ClaimedDelivery[]> {
  const due = await firstDue(database, underWay, limits, now, served);
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

/** How many due deliveries a claim chooses from, for each free slot: in total, and of an account. */
const CANDIDATES_PER_SLOT = 8;

/**
 * Returns due deliveries of hosts and accounts that have free slots: the first ones of each account, by turns. It takes
 * an index step for each account with pending deliveries, and for each of its hosts until it has found enough or has seen
 * `hostsPerAccount`. So a long queue of one account or to one host costs as much as a short one.
 */
async function firstDue(
  database: Database,
  underWay: readonly Lane[],
  { atOnce, perHost, perAccount, hostsPerAccount = 2 * WEBHOOK_LIMITS.hostsPerAccount }: SendingLimits,
  now: number,
  served: readonly number[],
): Promise<(Lane & { id: string })[]> {
  const hosts = underWay.map(({ host }) => host);
  const accountIds = underWay.map(({ accountId }) => accountId);
  const { rows } = await database.query<Lane & { id: string }>({
    name: 'due-deliveries',
    text: `with recursive accounts as (
        (select account_id as id from webhook_deliveries where state = 'pending' order by account_id limit 1)
        union all
        select n.account_id from accounts a cross join lateral (
          select d.account_id from webhook_deliveries d where d.state = 'pending' and d.account_id > a.id
          order by d.account_id limit 1) as n
      ), due as (
        select d.*, row_number() over (partition by d.account_id order by d.place, d.next_attempt_at) as turn
        from accounts a cross join lateral (
          with recursive hosts as (
            (select host from webhook_deliveries where state = 'pending' and account_id = a.id order by host limit 1)
            union all
            select n.host from hosts h cross join lateral (
              select d.host from webhook_deliveries d
              where d.state = 'pending' and d.account_id = a.id and d.host > h.host order by d.host limit 1) as n
          )
          select f.* from (select host from hosts limit $3) as h cross join lateral (
            select d.id, d.account_id, d.host, d.next_attempt_at, row_number() over (order by d.next_attempt_at) as place
            from webhook_deliveries d
            where d.state = 'pending' and d.account_id = a.id and d.host = h.host
              and d.next_attempt_at <= $1 and (d.claimed_until is null or d.claimed_until <= $1)
            order by d.next_attempt_at limit $2) as f
          where h.host <> all($4)
          limit $9) as d
        where a.id <> all($5)
      )
      select id, account_id as "accountId", host from due
      left join unnest($10::bigint[]) with ordinality as served (account_id, number) using (account_id)
      where turn <= $6
      order by turn + cardinality(array_positions($7::bigint[], account_id)), served.number nulls first,
        next_attempt_at, id
      limit $8`,
    values: [
      ...[new Date(now), perHost, hostsPerAccount],
      ...[reached(hosts, perHost), reached(accountIds, perAccount), perAccount, accountIds],
      Math.max(0, atOnce - underWay.length) * CANDIDATES_PER_SLOT,
      perAccount * CANDIDATES_PER_SLOT,
      served,
    ],
  });
  return rows;
}

/** Returns the values that occur at least `most` times. */
function reached<Value>(values: readonly Value[], most: number): Value[] {
  return [...new Set(values)].filter((value) => values.filter((other) => other === value).length >= most);
}

/**
 * Selects deliveries of `due` that fit the limits: first those of accounts with the fewest under way to the host, then those
 * of accounts with the fewest under way, then in the order of `due`. So a long queue of one account does not delay others.
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
