-- The account is part of the key, instead of a column beside it, so that only one index can answer the question whether
-- an account has the same call open: a plan made while the table was empty stays a good one.
create or replace function souk_claim_key(account bigint, charge_id bytea) returns bytea
language sql immutable parallel safe as $$ select charge_id || int8send(account) $$;
