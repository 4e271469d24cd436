-- Up Migration

-- When the operator has confirmed that the e-mail address belongs to the owner; null: never.
alter table accounts add column email_confirmed_at timestamptz;
