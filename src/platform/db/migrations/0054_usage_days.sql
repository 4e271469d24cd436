-- Up Migration

-- Finished calls and their charges by the UTC day on which they were accepted. The transaction that ends a call adds to it.
create table usage_days (
  account_id bigint not null,
  day date not null,
  operation text not null,
  calls bigint not null,
  units bigint not null,
  primary key (account_id, day, operation)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

insert into usage_days (account_id, day, operation, calls, units)
select account_id, (accepted_at at time zone 'UTC')::date, operation, count(*), sum(units_charged)
from finished_calls group by 1, 2, 3;
