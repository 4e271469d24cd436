import type { ClientBase } from 'pg';
import { lockAccount } from '../../accounts/accounts.ts';
import type { GrantKind } from '../wallets.ts';
import { unitsToRevoke } from './reversed-share.ts';

/** What a payment through Stripe has granted. */
export interface PaidGrant {
  id: string;
  accountId: number;
  subscriptionId: number | null;
  packId: number | null;
  reversedShare: number;
  unitsRevoked: number;
  /** Changes with every change of the row. */
  revision: string;
}

/**
 * Takes back the unused units of a payment of which a share was reversed, or gives them back, within the caller's transaction.
 * @returns false if the grant has changed since it was read.
 */
export async function storeReversal(
  client: ClientBase,
  grant: PaidGrant,
  share: number,
  now: number,
): Promise<boolean> {
  await lockAccount(client, grant.accountId);
  const { rowCount } = await client.query(
    'select 1 from stripe_payments where id = $1 and xmin::text = $2 for update',
    [grant.id, grant.revision],
  );
  if (rowCount === 0) return false;
  const units =
    grant.packId === null
      ? await fromMonth(client, grant, share, now)
      : await fromPack(client, grant, share, now);
  if (units === 0 && share === grant.reversedShare) return true;
  await client.query(
    'update stripe_payments set reversed_share = $2, units_revoked = units_revoked + $3 where id = $1',
    [grant.id, share, units],
  );
  return true;
}

async function fromPack(client: ClientBase, grant: PaidGrant, share: number, now: number): Promise<number> {
  const { rows } = await client.query<{ total: number; left: number }>(
    'select total_units as total, remaining_units as left from packs where id = $1',
    [grant.packId],
  );
  const units = unitsToRevoke({ ...only(rows), revoked: grant.unitsRevoked }, share);
  await client.query('update packs set remaining_units = remaining_units - $2 where id = $1', [
    grant.packId,
    units,
  ]);
  await addLine(client, grant, 'pack', units, now);
  // Units that return to a pack whose validity is over expire at once.
  if (units < 0) await client.query('select souk_expire_packs($1, $2)', [new Date(now), [grant.accountId]]);
  return units;
}

/** Takes units from the present month of a plan. A payment that was reversed as a whole also ends the plan. */
async function fromMonth(client: ClientBase, grant: PaidGrant, share: number, now: number): Promise<number> {
  const { rows } = await client.query<{ total: number | null; used: number }>(
    `select p.monthly_limit * s.quantity as total,
       case when s.month_start = m.month_start then s.month_used else 0 end as used
     from subscriptions s join plans p on p.id = s.plan_id
     cross join lateral souk_month(s, greatest($2, s.starts_at)) as m
     where s.id = $1 and greatest(s.ends_at, (select ends_at from stripe_payments where id = $3)) > $2`,
    [grant.subscriptionId, new Date(now), grant.id],
  );
  const [month] = rows;
  // The units of a month that is over have ended with it.
  if (!month) return 0;
  const { total, used } = month;
  const meter = { total: total ?? 0, left: (total ?? 0) - used, revoked: grant.unitsRevoked };
  const units = Math.max(unitsToRevoke(meter, share), -used);
  await client.query(
    `update subscriptions s set month_used = $3 + $4, month_start = m.month_start, month_end = m.month_end
     from subscriptions o cross join lateral souk_month(o, greatest($2, o.starts_at)) as m
     where o.id = $1 and s.id = o.id and $4 <> 0`,
    [grant.subscriptionId, new Date(now), used, units],
  );
  await addLine(client, grant, 'subscription', units, now);
  if (share === 1 || grant.reversedShare === 1) await setEnd(client, grant, share === 1, now);
  return units;
}

/** Ends a subscription, or continues it until its end or the start of the next one of its wallet. */
async function setEnd(
  client: ClientBase,
  { id, subscriptionId }: PaidGrant,
  isReversed: boolean,
  now: number,
): Promise<void> {
  await client.query(
    `update subscriptions s set ends_at = case
       when $3 then greatest(least(s.ends_at, $4), s.starts_at + interval '1 second')
       else greatest(s.ends_at, least((select ends_at from stripe_payments where id = $2),
         (select min(n.starts_at) from subscriptions n
          where n.account_id = s.account_id and n.wallet = s.wallet and n.starts_at > s.starts_at)))
       end
     where s.id = $1`,
    [subscriptionId, id, isReversed, new Date(now)],
  );
}

async function addLine(
  client: ClientBase,
  { accountId, packId, subscriptionId }: PaidGrant,
  source: GrantKind,
  units: number,
  now: number,
): Promise<void> {
  if (units === 0) return;
  await client.query(
    'insert into ledger (account_id, at, kind, source, source_id, units) values ($1, $2, $3, $4, $5, $6)',
    [
      accountId,
      new Date(now),
      units > 0 ? 'revoke' : 'restore',
      source,
      packId ?? subscriptionId,
      Math.abs(units),
    ],
  );
}

function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (!row) throw new Error('expected a row, got none');
  return row;
}
