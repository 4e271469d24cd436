/** Subscriptions without a successor in their wallet, and which Stripe does not renew, 7 days and 1 day before their end. */
export const PLAN_ENDS = `
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
