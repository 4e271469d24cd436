import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import { BinaryRows } from './binary-rows.ts';
import { openDepartments } from './departments.ts';
import { type AskNames, openNames } from './names.ts';
import type { ReportBatch, StagedPiece } from './report.ts';
import { ReportError } from './report-error.ts';
import { createStaging } from './stage.ts';
import { createTitles } from './titles.ts';

/** Converts batches to COPY's format, one after the other. It uses the database only for ids of names. */
export function openStaging(site: ReportSite, ask: AskNames): (batch: ReportBatch) => Promise<StagedPiece> {
  const names = openNames(ask);
  const departments = openDepartments();
  const staging = createStaging(site, names, departments);
  const titles = createTitles();
  const rowLines = new BinaryRows();
  const titleLines = new BinaryRows();

  async function stage({ rows, dated, fault }: ReportBatch): Promise<StagedPiece> {
    await names.learn(rows);
    let firstFault = fault;
    try {
      for (const row of rows) staging.write(row, rowLines);
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      firstFault = error.message;
    }
    titles.write(rows, titleLines);
    return {
      count: rows.length,
      dated,
      fault: firstFault,
      rows: rowLines.take(),
      titles: titleLines.take(),
      ranks: departments.take(),
    };
  }

  let before: Promise<unknown> = Promise.resolve();
  return (batch) => {
    // The next batch replaces the names that were loaded for this one.
    const staged = before.then(() => stage(batch));
    before = staged.catch(() => {});
    return staged;
  };
}
