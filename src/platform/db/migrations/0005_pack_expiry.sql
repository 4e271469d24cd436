-- Up Migration

-- When the expire line was written and the remaining units were removed, at some time after valid_until. The index
-- contains only packs that have not expired, and no index contains remaining_units, so that drawing is cheap.
alter table packs add column expired_at timestamptz;
create index packs_to_expire on packs (valid_until) where expired_at is null;

-- A window is complete or absent, and its zone exists: an unknown one would fail every admission of its account.
alter table packs
  add check (num_nulls(window_start, window_end, window_timezone) in (0, 3)),
  add check (window_timezone is null or timestamp '2000-01-01' at time zone window_timezone is not null);
