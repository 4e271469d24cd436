import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import { z } from 'zod';
import { type ImportResult, importWeek } from '../../brand-analytics/import/import-week.ts';
import { ReportError } from '../../brand-analytics/import/report-error.ts';
import { loadedWeeks } from '../../brand-analytics/weeks.ts';
import { isDate, isSaturday } from '../../keywords/report-week.ts';
import { REPORT_SITE_CODES } from '../../keywords/sites.ts';
import { readInput } from '../input.ts';
import { OperatorError } from '../operator-error.ts';
import { type Report, table } from '../report.ts';
import { type Context, type Given, onDatabase } from '../reporting.ts';

const READ_CHUNK_BYTES = 1_048_576;

const country = z.enum(REPORT_SITE_CODES, `must be one of ${REPORT_SITE_CODES.join(', ')}`);

const importInput = z.object({
  file: z.string(),
  country,
  week: z
    .string()
    .refine((text) => isDate(text) && isSaturday(text), 'must be a Saturday such as 2026-04-11')
    .optional(),
});

export function registerAba(program: Command): void {
  const aba = program.command('aba').description('brand analytics: weekly search-term reports');
  onDatabase(
    aba
      .command('import')
      .description(
        'load a weekly report, or load it again: JSON of the API or CSV of the seller site, plain or gzip',
      )
      .argument('<FILE>', 'the report')
      .requiredOption('--country <C>', `site code: ${REPORT_SITE_CODES.join(', ')}`)
      .option('--week <W>', 'Saturday of the week, where the file does not say it'),
    load,
    { connections: 4 },
  );
  onDatabase(aba.command('weeks').description('the weeks that are loaded'), weeks);
}

async function load({ database, now }: Context, given: Given): Promise<Report> {
  const { file, country: site, week } = readInput(importInput, given);
  const size = await stat(file).then(
    (found) => found.size,
    () => {
      throw new OperatorError(`There is no file ${file}.`);
    },
  );
  const bar = new SingleBar({
    format: '{stage} [{bar}] {percentage}% | {rows} rows | {rate} rows/s | {left} left',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  });
  const stream = createReadStream(file, { highWaterMark: READ_CHUNK_BYTES });
  const startedAt = performance.now();
  bar.start(size, 0, { stage: 'reading', rows: 0, rate: '-', left: '-' });
  try {
    const result = await importWeek(database, {
      file: stream,
      site,
      week,
      now,
      onProgress({ rows, stage }) {
        const seconds = (performance.now() - startedAt) / 1000;
        const left = (seconds / Math.max(1, stream.bytesRead)) * (size - stream.bytesRead);
        bar.update(stream.bytesRead, {
          stage,
          rows: rows.toLocaleString('en-US'),
          rate: Math.round(rows / seconds).toLocaleString('en-US'),
          left: stage === 'reading' ? `${Math.ceil(left)} s` : 'indexes',
        });
      },
    });
    bar.stop();
    return { data: { country: site, ...result }, text: told(site, result, startedAt) };
  } catch (error) {
    bar.stop();
    if (error instanceof ReportError) throw new OperatorError(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

function told(site: string, result: ImportResult, startedAt: number): string {
  const seconds = Math.max(1, Math.round((performance.now() - startedAt) / 1000));
  const terms = result.terms.toLocaleString('en-US');
  return [
    `${site}, week to ${result.week}: ${terms} terms ${result.replaced ? 'replaced' : 'loaded'} in ${seconds} s.`,
    ...(result.recomputed.length > 0 ? [`Changes computed anew: ${result.recomputed.join(', ')}.`] : []),
    ...result.warnings.map((warning) => `Warning: ${warning}`),
  ].join('\n');
}

async function weeks({ database }: Context): Promise<Report> {
  const loaded = await loadedWeeks(database, null);
  const rows = loaded.map(({ site, week, terms }) => [site, week, terms]);
  return {
    data: loaded.map(({ site, week, terms, importId }) => ({ country: site, week, terms, importId })),
    text: table(['Site', 'Week to', 'Terms'], rows),
  };
}
