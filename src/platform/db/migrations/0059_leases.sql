-- Up Migration

-- Work that one process does at a time. Any free process takes it. A row stays; its times are those of the present or last holder.
create table leases (
  name text primary key,
  holder uuid not null,
  until timestamptz not null
) with (fillfactor = 50);

-- Pages of open calls continue after the last deadline and id of the page before.
drop index open_calls_deadline;
create index open_calls_deadline on open_calls (deadline_at, id);
