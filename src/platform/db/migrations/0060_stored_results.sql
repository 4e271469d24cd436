-- Up Migration

-- Bytes of the stored results of a batch, for the storage limit of its account.
alter table batches add column result_bytes bigint not null default 0;

update batches b set result_bytes = c.bytes
from (
  select batch_id, sum(coalesce(octet_length(lines), 0) + coalesce(octet_length(table_rows), 0)) as bytes
  from batch_calls group by batch_id
) as c
where c.batch_id = b.id and c.bytes > 0;
