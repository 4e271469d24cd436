import type { Queryable } from '../platform/db/pool.ts';

/** A table with its partitions and indexes. */
export interface TableSize {
  name: string;
  partitions: number;
  /** An estimate of PostgreSQL. */
  rows: number;
  bytes: number;
}

/** Returns the tables, the largest first. Those of other schemas count together, by the name of their schema. */
export async function tableSizes(database: Queryable): Promise<TableSize[]> {
  const { rows } = await database.query<TableSize>(
    `select case c.relnamespace when 'public'::regnamespace then c.relname else n.nspname end as name, count(*) filter (where t.isleaf and t.relid <> c.oid)::integer as partitions,
       coalesce(sum(greatest(l.reltuples, 0)) filter (where t.isleaf), 0)::bigint as rows,
       coalesce(sum(pg_total_relation_size(t.relid)), 0)::bigint as bytes
     from pg_class c
     cross join lateral (
       select relid, isleaf from pg_partition_tree(c.oid)
       union select c.oid, true where c.relkind = 'r'
     ) as t
     join pg_class l on l.oid = t.relid
     join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('public', 'test_reports') and c.relkind in ('r', 'p') and not c.relispartition
     group by 1 order by bytes desc, name`,
  );
  return rows;
}

/** What maintenance has created, folded or deleted. */
export interface RetentionNote {
  at: Date;
  note: string;
}

/** Returns the latest notes of maintenance, the newest first. */
export async function retentionNotes(database: Queryable, limit: number): Promise<RetentionNote[]> {
  const { rows } = await database.query<RetentionNote>(
    'select at, note from retention_notes order by id desc limit $1',
    [limit],
  );
  return rows;
}
