-- Up Migration

-- Open batches of an account: for its limit, and for the reasons why its batches wait.
create index batches_open_account on batches (account_id) where finished_at is null;
