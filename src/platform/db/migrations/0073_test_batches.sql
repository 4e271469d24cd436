-- Up Migration

-- Batches of test accounts are deleted earlier than others.
create index batches_test_finished on batches (finished_at) where account_id >= 1000000000000 and finished_at is not null;
