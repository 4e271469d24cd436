/** Units are low when at most this share is left. */
const LOW_SHARE = 0.2;

const kindOf = (remaining: string) => `case when ${remaining} <= 0 then 'units_empty' else 'units_low' end`;

/** The packs of a wallet together. Once for each of the two shares and each newest pack. */
export const PACK_UNITS = `
  select account_id, ${kindOf('remaining')} as kind, 'packs-' || wallet || ' ' || newest as cause,
    json_build_object('source', 'packs-' || wallet, 'period', newest::text, 'remaining', remaining, 'total', total,
      'of', case wallet when 'general' then 'your packs' else 'your off-peak packs' end) as facts
  from (
    select account_id, wallet, max(id) as newest, sum(remaining_units)::bigint as remaining, sum(total_units)::bigint as total
    from packs where valid_from <= $1::timestamptz and valid_until > $1::timestamptz group by account_id, wallet
  ) as p where remaining <= ${LOW_SHARE} * total`;

/** The present month of a subscription, once for each of the two shares and each month. */
export const PLAN_UNITS = `
  select account_id, ${kindOf('remaining')} as kind, 'plan-' || id || ' ' || month as cause,
    json_build_object('source', 'plan-' || id, 'period', month, 'remaining', remaining, 'total', total,
      'of', 'this month of your plan ' || name) as facts
  from (
    select s.id, s.account_id, p.name, to_char(s.month_start at time zone 'UTC', 'YYYY-MM-DD') as month,
      p.monthly_limit * s.quantity as total, greatest(0, p.monthly_limit * s.quantity - s.month_used) as remaining
    from subscriptions s join plans p on p.id = s.plan_id
    where s.starts_at <= $1::timestamptz and s.ends_at > $1::timestamptz and s.month_start <= $1::timestamptz and s.month_end > $1::timestamptz and p.monthly_limit is not null
  ) as s where remaining <= ${LOW_SHARE} * total`;
