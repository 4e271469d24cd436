import pg from 'pg';
import { REPORT_SITES, type ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import type { Database } from '../../platform/db/pool.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { IMPORT_LOCK } from './import-lock.ts';
import { findWeekTable } from './publish.ts';

/** Deletes a loaded week with its table. @returns false if an import is running, or the week is not loaded. */
export function dropWeek(database: Database, site: ReportSite, week: string): Promise<boolean> {
  return inTransaction(database, async (client) => {
    const { rows } = await client.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${IMPORT_LOCK}) as locked`,
    );
    const table = rows[0]?.locked ? await findWeekTable(client, site, week) : null;
    if (!table) return false;
    await client.query('delete from aba_weeks where site = $1 and week = $2', [
      REPORT_SITES[site].domain,
      week,
    ]);
    await client.query(`drop table ${pg.escapeIdentifier(table)}`);
    return true;
  });
}
