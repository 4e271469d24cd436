import type { Database } from '../platform/db/pool.ts';
import { allRows } from '../platform/db/rows.ts';
import type { Channel, ClaimedMessage, Sender, SendingLimits } from './queue.ts';

/** Limits apply to an account and a host. */
type Lane = Pick<ClaimedMessage, 'accountId' | 'host'>;

/**
 * Claims due messages within the limits and without those under way, first those of accounts with the fewest under way,
 * then those of accounts that were served longest ago. Concurrent processes claim different messages.
 * @param served the accounts of earlier claims, the latest last.
 */
export async function claimDue(
  database: Database,
  { channel, limits, claimMs }: Pick<Sender, 'channel' | 'limits' | 'claimMs'>,
  underWay: readonly Lane[],
  now: number,
  served: readonly number[] = [],
) {
  if (underWay.length >= limits.atOnce) return [];
  const due = await firstDue(database, channel, underWay, limits, now, served);
  const chosen = chooseWithin(limits, underWay, due);
  if (chosen.length === 0) return [];
  return allRows<ClaimedMessage>(database, {
    name: 'claim-messages',
    text: `update outbox m set claimed_until = $3
      from (select id from outbox
        where id = any($1) and state = 'pending' and next_attempt_at <= $2
          and (claimed_until is null or claimed_until <= $2)
        for update skip locked) as free
      where m.id = free.id
      returning m.id, coalesce(m.account_id, 0) as "accountId", m.person_id as "personId", m.kind, m.recipient, m.host, m.payload, m.retries,
        m.claimed_until as "claimedUntil", m.created_at as "createdAt"`,
    values: [chosen.map(({ id }) => id), new Date(now), new Date(now + claimMs)],
  });
}

/** How many due messages a claim chooses from, for each free slot. */
const CANDIDATES_PER_SLOT = 8;

/**
 * Returns due messages of hosts and accounts that have free slots: the first ones of each account, alternating between accounts. It takes
 * an index step for each account with pending messages, and for each of its hosts up to `hostsPerAccount`. So a long queue of
 * one account or to one host costs as much as a short one. Of an account with more hosts than
 * slots, it takes the first message to each and draws lots, so that long queues to some hosts delay none to another.
 */
function firstDue(
  database: Database,
  channel: Channel,
  underWay: readonly Lane[],
  { atOnce, perHost, perAccount, hostsPerAccount }: SendingLimits,
  now: number,
  served: readonly number[],
): Promise<(Lane & { id: string })[]> {
  const hosts = underWay.map(({ host }) => host);
  const accountIds = underWay.map(({ accountId }) => accountId);
  return allRows<Lane & { id: string }>(database, {
    name: 'due-messages',
    text: `with recursive pending as not materialized (
        select id, coalesce(account_id, 0) as account_id, host, next_attempt_at, claimed_until from outbox
        where channel = $10 and state = 'pending'
      ), accounts as (
        (select account_id as id from pending order by account_id limit 1)
        union all
        select n.account_id from accounts a cross join lateral (
          select p.account_id from pending p where p.account_id > a.id order by p.account_id limit 1) as n
      ), due as (
        select d.*, row_number() over (
          partition by d.account_id order by d.place, case when d.total >= $6 then random() end, d.next_attempt_at) as turn
        from accounts a cross join lateral (
          with recursive hosts as (
            (select host from pending where account_id = a.id order by host limit 1)
            union all
            select n.host from hosts h cross join lateral (
              select p.host from pending p where p.account_id = a.id and p.host > h.host order by p.host limit 1) as n
          )
          select f.*, h.total from (select host, count(*) over () as total from (select host from hosts limit $3) as h) as h
          cross join lateral (
            select p.id, p.account_id, p.host, p.next_attempt_at, row_number() over (order by p.next_attempt_at) as place
            from pending p
            where p.account_id = a.id and p.host = h.host
              and p.next_attempt_at <= $1 and (p.claimed_until is null or p.claimed_until <= $1)
            order by p.next_attempt_at limit case when h.total < $6 then $2 else 1 end) as f
          where h.host <> all($4)) as d
        where a.id <> all($5)
      )
      select id, account_id as "accountId", host from due
      left join unnest($9::bigint[]) with ordinality as served (account_id, number) using (account_id)
      where turn <= $6
      order by turn + cardinality(array_positions($7::bigint[], account_id)), served.number nulls first,
        next_attempt_at, id limit $8`,
    values: [
      new Date(now),
      perHost,
      hostsPerAccount,
      reached(hosts, perHost),
      reached(accountIds, perAccount),
      perAccount,
      accountIds,
      Math.max(0, atOnce - underWay.length) * CANDIDATES_PER_SLOT,
      served,
      channel,
    ],
  });
}

/** Returns the values that occur at least `most` times. */
function reached<Value>(values: readonly Value[], most: number): Value[] {
  return [...new Set(values)].filter((value) => values.filter((other) => other === value).length >= most);
}

/**
 * Selects messages of `due` that fit the limits: first those of accounts with the fewest under way to the host, then those
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
    for (const message of waiting) {
      if (isFull(message)) waiting.delete(message);
      else if (next === null || goesBefore(message, next)) next = message;
    }
    if (next === null) break;
    waiting.delete(next);
    count(next);
    chosen.push(next);
  }
  return chosen;
}
