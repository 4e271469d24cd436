-- Up Migration

-- When the personal data of an account will be erased, and when it was.
alter table accounts add column erase_at timestamptz, add column erased_at timestamptz;
create index accounts_erase on accounts (erase_at) where erase_at is not null and erased_at is null;
