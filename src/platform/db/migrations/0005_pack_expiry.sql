-- Up Migration

-- When the ledger's expire line was written, and what was left taken out: some moment after valid_until. The index holds
-- only packs that this is still to be done for, and remaining_units stays out of every index, so that drawing is cheap.
alter table packs add column expired_at timestamptz;
create index packs_to_expire on packs (valid_until) where expired_at is null;

-- A window is whole or absent, and its zone exists: an unknown one would fail every admission of its account.
alter table packs
  add check (num_nulls(window_start, window_end, window_timezone) in (0, 3)),
  add check (window_timezone is null or timestamp '2000-01-01' at time zone window_timezone is not null);
