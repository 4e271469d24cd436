-- Up Migration

-- The instant from which the months of a subscription are counted, if it is not starts_at.
alter table subscriptions add column months_from timestamptz;

-- Until now months started at 00:00 UTC of the start day. A subscription that is under way keeps these times, which its
-- customer has seen. docs/decisions/exact-months.md states the rule.
update subscriptions set months_from = date_trunc('day', starts_at, 'UTC')
where starts_at <= now() and ends_at > now() and starts_at <> date_trunc('day', starts_at, 'UTC');
