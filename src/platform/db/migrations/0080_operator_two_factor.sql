-- Up Migration

-- The second factor of the operator: one row, which sign-ins lock while they check whether a code is required.
create table operator_two_factor (
  only_row boolean primary key default true check (only_row),
  -- Shared with an app of the operator, sealed like other secrets. null: the token alone signs in.
  secret text,
  -- The time step of the last code that was used. A code is used once.
  last_step bigint not null default 0,
  -- Digests of the recovery codes that are left.
  recovery_hashes bytea[] not null default '{}'
);

insert into operator_two_factor default values;
