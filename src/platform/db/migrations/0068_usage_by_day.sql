-- Up Migration

-- Ending a call changes rows of the present day only. With the day first, they share a few pages of the index, however many days
-- it holds, and old days are deleted without reading the table.
alter table usage_days drop constraint usage_days_pkey, add primary key (day, account_id, operation);
