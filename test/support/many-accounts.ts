import { randomBytes } from 'node:crypto';
import type { Database } from '../../src/platform/db/pool.ts';
import type { BilledAccount, PackGrant, SubscriptionGrant } from './billing.ts';

export interface Grants {
  subscriptions: readonly SubscriptionGrant[];
  packs: readonly PackGrant[];
}

/** Creates thousands of accounts with their grants in a few statements. Every field of a grant must be given, also those with defaults elsewhere. */
export async function openManyAccounts(
  database: Database,
  grants: readonly Grants[],
  now: number,
): Promise<BilledAccount[]> {
  const names = grants.map(() => randomBytes(9).toString('hex'));
  const keyHashes = grants.map(() => randomBytes(32));
  const at = new Date(now);
  const { rows } = await database.query<{ id: number }>(
    `insert into accounts (name, created_at)
     select name, $2 from unnest($1::text[]) with ordinality as q (name, nth) order by nth
     returning id`,
    [names, at],
  );
  const ids = rows.map(({ id }) => id);
  await database.query(
    `insert into api_keys (hash, account_id, prefix, created_at)
     select hash, account, 'km_test', $3 from unnest($1::bytea[], $2::bigint[]) as q (hash, account)`,
    [keyHashes, ids, at],
  );

  const subscriptions = grants.flatMap(({ subscriptions: own }, i) =>
    own.map((grant, n) => ({ ...grant, accountId: ids[i], code: `${names[i]}-${n}` })),
  );
  await database.query(
    `with q as (
       select * from unnest($1::text[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::wallet[],
         $7::integer[], $8::timestamptz[], $9::timestamptz[])
         as q (code, minute_limit, daily_limit, monthly_limit, account_id, wallet, quantity, starts_at, ends_at)
     ), plan as (
       insert into plans (code, name, minute_limit, daily_limit, monthly_limit)
       select code, 'Test', minute_limit, daily_limit, monthly_limit from q returning id, code
     )
     insert into subscriptions (account_id, wallet, plan_id, quantity, starts_at, ends_at)
     select account_id, wallet, plan.id, quantity, starts_at, ends_at from q join plan using (code)`,
    [
      subscriptions.map(({ code }) => code),
      subscriptions.map(({ minuteLimit }) => minuteLimit),
      subscriptions.map(({ dailyLimit }) => dailyLimit),
      subscriptions.map(({ monthlyLimit }) => monthlyLimit),
      subscriptions.map(({ accountId }) => accountId),
      subscriptions.map(({ wallet }) => wallet),
      subscriptions.map(({ quantity }) => quantity),
      subscriptions.map(({ startsAt }) => startsAt),
      subscriptions.map(({ endsAt }) => endsAt),
    ],
  );

  const packs = grants.flatMap(({ packs: own }, i) => own.map((pack) => ({ ...pack, accountId: ids[i] })));
  await database.query(
    `with granted as (
       insert into packs (account_id, wallet, total_units, remaining_units, rate_limit_per_minute, valid_from,
         valid_until, window_start, window_end, window_timezone)
       select account_id, wallet, units, units, rate, valid_from, valid_until, w_start, w_end, w_zone
       from unnest($1::bigint[], $2::wallet[], $3::bigint[], $4::integer[], $5::timestamptz[], $6::timestamptz[],
         $7::time[], $8::time[], $9::text[]) with ordinality
         as q (account_id, wallet, units, rate, valid_from, valid_until, w_start, w_end, w_zone, nth)
       order by nth
       returning id, account_id, total_units
     )
     insert into ledger (account_id, at, kind, source, source_id, units)
     select account_id, $10, 'grant', 'pack', id, total_units from granted`,
    [
      packs.map(({ accountId }) => accountId),
      packs.map(({ wallet }) => wallet),
      packs.map(({ units }) => units),
      packs.map(({ rate }) => rate),
      packs.map(({ validFrom }) => validFrom),
      packs.map(({ validUntil }) => validUntil),
      packs.map(({ window }) => window?.start ?? null),
      packs.map(({ window }) => window?.end ?? null),
      packs.map(({ window }) => window?.timezone ?? null),
      at,
    ],
  );
  return ids.map((accountId, i) => ({ accountId, key: '', keyHash: keyHashes[i] ?? Buffer.alloc(0) }));
}
