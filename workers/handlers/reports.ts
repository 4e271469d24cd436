import { mayLabel } from '../../src/brand-analytics/product-labels.ts';
import { editionOf, type LoadedWeek, loadedWeeks } from '../../src/brand-analytics/weeks.ts';
import type { ReportsNeeded } from '../../src/operations/brand-analytics/keywords.ts';
import type { InputOf, RawOf } from '../../src/operations/index.ts';
import { cancellable } from '../../src/platform/db/cancellable.ts';
import type { Queryable } from '../../src/platform/db/pool.ts';
import { SoukError } from '../../src/platform/errors.ts';
import type { Handler, HandlerContext } from './handler.ts';

/** PostgreSQL's code of a missing table. */
const NO_TABLE = '42P01';

const MOST_ATTEMPTS = 3;

/** The loaded weeks that an operation reads: of its site, or of all sites, the newest first. */
export interface Reports {
  database: Queryable;
  weeks: LoadedWeek[];
  /** The provider of products whose learned brands may be shown; null: none. */
  brandsFrom: string | null;
}

/** Creates the handler of an operation on our reports. */
export function fromReports<Operation extends { reports?: unknown }>(
  operation: Operation,
  read: (input: InputOf<Operation>, reports: Reports) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  const needs = operation.reports as (input: InputOf<Operation>) => ReportsNeeded;
  return async (input, context) => {
    const value = await readReports(context, needs(input), (reports) => read(input, reports));
    return new Map(context.sources.map(({ key }) => [key, value]));
  };
}

/**
 * Reads our reports. Tables of weeks never change, so all rows are of one edition. If a table was replaced meanwhile,
 * everything is read again. Only the answer is cached, because reading our own tables is as fast as reading a source
 * cache.
 */
export async function readReports<T>(
  { upstream: { reports }, useEdition, signal }: HandlerContext,
  needed: ReportsNeeded,
  read: (reports: Reports) => Promise<T>,
): Promise<T> {
  const database = cancellable(reports.database, signal);
  const brandsFrom = mayLabel(reports.products, reports.provider) ? reports.products : null;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const weeks = await loadedWeeks(database, reports.provider, needed.country);
      useEdition(editionOf(weeks, needed));
      return await read({ database, weeks, brandsFrom });
    } catch (error) {
      if ((error as { code?: string }).code !== NO_TABLE || attempt === MOST_ATTEMPTS) throw error;
    }
  }
}

/** Returns the error of a call that was admitted, because its week was loaded a moment ago, and does not find the week. */
export function weekIsGone(country: string, week = 'newest'): SoukError {
  return new SoukError('INTERNAL', { cause: new Error(`week ${week} of ${country} is gone`) });
}
