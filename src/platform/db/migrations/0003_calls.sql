-- Up Migration

create type call_state as enum ('reserved', 'settled', 'released');
create type source_kind as enum ('subscription', 'pack');
create type ledger_kind as enum ('grant', 'charge', 'reserve', 'settle', 'release', 'expire');

-- One row for each admitted call. Every charged call writes to these two tables, so they have no foreign keys: only
-- souk_admit and souk_finish write to them, with the account's row locked.
create table calls (
  account_id bigint not null,
  id uuid not null,
  operation text not null,
  -- Identifies a call: a hash of operation and canonical input, with the account (see souk_claim_key).
  claim_key bytea not null,
  state call_state not null,
  pool text not null,
  units_reserved integer not null check (units_reserved >= 0),
  units_charged integer not null default 0 check (units_charged between 0 and units_reserved),
  accepted_at timestamptz not null,
  deadline_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  attempts smallint not null default 0,
  -- Where the answer is stored.
  answer text,
  -- {code, metadata} of a failed call.
  error jsonb,
  -- The canonical input of a call that became a job: a lost job is created again from it.
  input jsonb,
  -- [{kind, id, units, day, month}] in drawing order; null if no units can be returned.
  draws jsonb,
  primary key (account_id, id)
);

create index calls_claim on calls (claim_key, accepted_at);
create index calls_open on calls (deadline_at) where state = 'reserved';

-- Append-only. A line moves units between two places; ledger_entries shows both sides.
create table ledger (
  account_id bigint not null,
  id bigint generated always as identity,
  at timestamptz not null,
  kind ledger_kind not null,
  source source_kind not null,
  source_id bigint not null,
  call_id uuid,
  units bigint not null check (units >= 0),
  primary key (account_id, id)
);

create view ledger_entries as
  select l.account_id, l.id, l.at, l.kind, l.source, l.source_id, l.call_id, e.place, e.units
  from ledger l
  cross join lateral (
    values
      (case l.kind
         when 'grant' then 'issued'
         when 'charge' then 'available'
         when 'reserve' then 'available'
         when 'settle' then 'held'
         when 'release' then 'held'
         when 'expire' then 'available'
       end, -l.units),
      (case l.kind
         when 'grant' then 'available'
         when 'charge' then 'used'
         when 'reserve' then 'held'
         when 'settle' then 'used'
         when 'release' then 'available'
         when 'expire' then 'expired'
       end, l.units)
  ) as e (place, units);
