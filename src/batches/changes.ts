import type { ClientBase } from 'pg';
import { contentHash, type ItemResult, itemHash } from './lines.ts';

/**
 * Returns the results of a run whose content differs from that of the previous run, and stores their content hashes
 * for the next run.
 */
export async function storeChanged(
  client: ClientBase,
  scheduleId: string,
  results: readonly ItemResult[],
): Promise<ItemResult[]> {
  const { rowCount } = await client.query('select 1 from schedules where id = $1 for key share', [
    scheduleId,
  ]);
  // The schedule was deleted during this run, so there is no previous run and no next one.
  if (rowCount === 0) return [...results];
  const hashes = results.map(({ raw, data }) => ({ item: itemHash(raw), content: contentHash(data) }));
  const { rows } = await client.query<{ hash: Buffer }>(
    `insert into schedule_contents as s (schedule_id, item_hash, content_hash)
     select distinct on (i.item) $1, i.item, i.content from unnest($2::bytea[], $3::bytea[]) as i (item, content)
     on conflict (schedule_id, item_hash) do update set content_hash = excluded.content_hash
       where s.content_hash <> excluded.content_hash
     returning item_hash as hash`,
    [scheduleId, hashes.map(({ item }) => item), hashes.map(({ content }) => content)],
  );
  const changed = new Set(rows.map(({ hash }) => hash.toString('hex')));
  return results.filter((_, i) => changed.has(hashes[i]?.item.toString('hex') ?? ''));
}

/** Deletes the stored contents of a schedule, so that its next run returns all results. */
export async function deleteContents(client: ClientBase, scheduleId: string): Promise<void> {
  await client.query('delete from schedule_contents where schedule_id = $1', [scheduleId]);
}

/**
 * Deletes the stored contents of items that the schedule no longer has. @param kept hashes of its present items.
 */
export async function deleteContentsOfOtherItems(
  client: ClientBase,
  scheduleId: string,
  kept: readonly Buffer[],
): Promise<void> {
  await client.query(
    `delete from schedule_contents s where schedule_id = $1
       and not exists (select 1 from unnest($2::bytea[]) as k (item_hash) where k.item_hash = s.item_hash)`,
    [scheduleId, kept],
  );
}
