import { editionOf, type LoadedWeek, loadedWeeks } from '../../../src/brand-analytics/weeks.ts';
import type { ReportsNeeded } from '../../../src/operations/brand-analytics/keywords.ts';
import type { InputOf, RawOf } from '../../../src/operations/index.ts';
import { cancellable } from '../../../src/platform/db/cancellable.ts';
import type { Queryable } from '../../../src/platform/db/pool.ts';
import type { Handler } from '../handler.ts';

/** PostgreSQL's code of a missing table. */
const NO_TABLE = '42P01';

/** The loaded weeks that an operation reads: of its site, or of all sites, the newest first. */
export interface Reports {
  database: Queryable;
  weeks: LoadedWeek[];
}

/**
 * Creates the handler of an operation on our reports. Tables of weeks never change, so all rows are of one edition.
 * If a table was replaced meanwhile, everything is read again. Only the answer is cached, because reading our own
 * tables is as fast as reading a source cache.
 */
export function fromReports<Operation extends { reports?: unknown }>(
  operation: Operation,
  read: (input: InputOf<Operation>, reports: Reports) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  const needs = operation.reports as (input: InputOf<Operation>) => ReportsNeeded;
  return async (input, { upstream: { reports }, sources, useEdition, signal }) => {
    const database = cancellable(reports.database, signal);
    const needed = needs(input);
    const value = await readWhole(async () => {
      const weeks = await loadedWeeks(database, reports.provider, needed.country);
      useEdition(editionOf(weeks, needed));
      return read(input, { database, weeks });
    });
    return new Map(sources.map(({ key }) => [key, value]));
  };
}

const MOST_ATTEMPTS = 3;

async function readWhole<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      if ((error as { code?: string }).code !== NO_TABLE || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}
