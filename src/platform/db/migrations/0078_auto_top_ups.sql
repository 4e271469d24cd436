-- Up Migration

-- Packs that Souk buys for an account when few units are left, within a monthly ceiling.
create table auto_top_ups (
  account_id bigint primary key references accounts,
  pack_code text not null references pack_offers,
  -- A pack is bought when the packs and plans of its wallet have fewer units left.
  threshold_units bigint not null check (threshold_units > 0),
  ceiling_cents bigint not null check (ceiling_cents > 0),
  is_on boolean not null,
  -- Why Souk has switched it off.
  stopped_reason text,
  -- The UTC month of the two counts, as 2026-03.
  month text not null default '',
  spent_cents bigint not null default 0,
  purchases integer not null default 0,
  -- The purchase whose payment is under way.
  purchase_id uuid references orders,
  checked_at timestamptz not null,
  check (month = '' or spent_cents >= 0)
);
create index auto_top_ups_checked on auto_top_ups (checked_at) where is_on;
