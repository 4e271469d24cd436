-- Up Migration

-- The next calls of a batch by pool: those that were never tried first, in the order of their items.
drop index batch_calls_pending;
create index batch_calls_pending on batch_calls (batch_id, pool, not_before, first_item) where state = 'pending';
