-- Up Migration

-- The window of an off-peak pack that is sold with its own hours: {start, end, timezone}. null: the window of the service.
alter table pack_offers add column own_window jsonb check (own_window is null or wallet = 'off_peak');
alter table orders add column pack_window jsonb;
