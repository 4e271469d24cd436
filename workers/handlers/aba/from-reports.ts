import { editionOf, type LoadedWeek, loadedWeeks } from '../../../src/brand-analytics/weeks.ts';
import type { Database } from '../../../src/db/pool.ts';
import type { ReportsNeeded } from '../../../src/keywords/reports-needed.ts';
import type { InputOf, RawOf } from '../../../src/operations/index.ts';
import type { Handler } from '../handler.ts';

/** PostgreSQL's code of a table that is not there. */
const NO_TABLE = '42P01';

/** The loaded weeks an operation reads: of its site, or of all, the newest first. */
export interface Reports {
  database: Database;
  weeks: LoadedWeek[];
}

/**
 * The handler of an operation on our reports. Tables of weeks never change, so that what is read is one edition
 * throughout; when one of them was replaced meanwhile, everything is read again.
 */
export function fromReports<Operation extends { reports?: unknown }>(
  operation: Operation,
  read: (input: InputOf<Operation>, reports: Reports) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  const needs = operation.reports as (input: InputOf<Operation>) => ReportsNeeded;
  return async (input, context) => {
    const database = context.upstream.reports;
    const needed = needs(input);
    const edition = editionOf(await loadedWeeks(database, needed.country), needed);
    context.useEdition(edition);
    const sources = context.sources.map(({ key, identity }) => ({ key, identity: `${identity}@${edition}` }));
    return context.obtain(sources, async (missing) => {
      const value = await readWhole(database, needed.country, (weeks) => read(input, { database, weeks }));
      return new Map(missing.map(({ key }) => [key, value]));
    });
  };
}

async function readWhole<T>(
  database: Database,
  country: Parameters<typeof loadedWeeks>[1],
  read: (weeks: LoadedWeek[]) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read(await loadedWeeks(database, country));
    } catch (error) {
      if ((error as { code?: string }).code !== NO_TABLE || attempt === 3) throw error;
    }
  }
}
