-- Work that one process does at a time. Any free process takes it. A row stays; its times are those of the present or last holder.
create table leases (
  name text primary key,
  holder uuid not null,
  until timestamptz not null
) with (fillfactor = 50);

