-- The account is part of the key rather than a separate column, so that only one index fits the query for an
-- identical call of the account. A plan that was made while the table was empty then stays good.
create or replace function souk_claim_key(account bigint, charge_id bytea) returns bytea
language sql immutable parallel safe as $$ select charge_id || int8send(account) $$;
