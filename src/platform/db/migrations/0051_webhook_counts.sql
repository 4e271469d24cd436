-- Up Migration

-- How many messages about a call were requested, sent ones included. A row is deleted a day after the first request.
create table call_webhook_counts (
  account_id bigint not null,
  call_id uuid not null,
  messages integer not null,
  created_at timestamptz not null,
  primary key (account_id, call_id)
);

create index call_webhook_counts_created on call_webhook_counts (created_at);
