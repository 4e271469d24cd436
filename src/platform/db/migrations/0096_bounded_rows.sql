-- Up Migration

-- Deliveries are deleted 30 days after they were created, so that a replay does not keep them longer.
drop index webhook_deliveries_finished;
create index webhook_deliveries_ended on webhook_deliveries (created_at) where state <> 'pending';
-- Only the newest tests of an account are kept.
create index webhook_deliveries_tests on webhook_deliveries (account_id, id) where type = 'webhook.test';
-- Only the newest ended batches of an account that cost nothing are kept.
create index batches_free on batches (account_id, id) where finished_at is not null and units_charged = 0;
