import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import { BinaryRows } from './binary-rows.ts';
import { Ranking } from './departments.ts';
import { type AskNames, openNames } from './names.ts';
import type { ReportBatch } from './report.ts';
import { createStaging } from './stage.ts';
import { createTitles } from './titles.ts';

/** A batch in COPY's binary format, for the staging table and the table of titles. */
export interface StagedBatch {
  rows: Uint8Array<ArrayBuffer>;
  titles: Uint8Array<ArrayBuffer>;
}

/** Checks batches and converts them to COPY's format, one after the other. It uses the database only for ids of names. */
export function openStaging(site: ReportSite, ask: AskNames) {
  const names = openNames(ask);
  const ranking = new Ranking();
  const staging = createStaging(site, names, ranking);
  const titles = createTitles();
  const rowLines = new BinaryRows();
  const titleLines = new BinaryRows();
  return {
    ranking,
    /** @throws ReportError for the first row with a fault. */
    async stage(rows: ReportBatch): Promise<StagedBatch> {
      await names.learn(rows);
      for (const row of rows) staging.write(row, rowLines);
      titles.write(rows, titleLines);
      return { rows: rowLines.take(), titles: titleLines.take() };
    },
  };
}
