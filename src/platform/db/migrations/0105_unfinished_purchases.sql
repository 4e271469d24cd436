-- Up Migration

-- The purchases that are counted and deleted; granted ones are kept for ever.
create index orders_unfinished on orders (account_id, created_at) where state <> 'granted';
