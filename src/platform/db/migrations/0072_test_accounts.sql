-- Up Migration

-- The test account of an account: the owner of its test keys, with a wallet, calls and batches of its own. Its id is computed
-- from that of the live account, so that programs know the mode of an account from its id; see src/accounts/test-accounts.ts.
alter table accounts add column live_account_id bigint unique references accounts on delete cascade;
alter table accounts add constraint accounts_mode check (
  case when live_account_id is null then id < 1000000000000 else id = 1000000000000 + live_account_id end);

-- Whether the pages show the test account. The key of the session is then one of the test account.
alter table web_sessions add column is_test boolean not null default false;
