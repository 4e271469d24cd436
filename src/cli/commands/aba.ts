import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import { z } from 'zod';
import { type FetchOutcome, fetchWeek } from '../../brand-analytics/fetch-week.ts';
import {
  type AwaitedWeek,
  awaitedWeeks,
  deleteReports,
  type ImportResult,
  type ImportStage,
  importWeek,
} from '../../brand-analytics/import/import-week.ts';
import { ReportError } from '../../brand-analytics/import/report.ts';
import { loadedWeeks } from '../../brand-analytics/weeks.ts';
import { credentialsFor } from '../../config/selling-partner.ts';
import { isSaturday, lastEndedWeek, REPORT_SITE_CODES } from '../../operations/brand-analytics/keywords.ts';
import { DEMO } from '../../operations/pools.ts';
import { writeLine } from '../../operator/audit.ts';
import { isDate } from '../../platform/calendar.ts';
import { systemClock } from '../../platform/clock.ts';
import { ProviderRefusal } from '../../upstream/selling-partner/report-provider.ts';
import {
  type Column,
  command,
  group,
  OperatorError,
  providersInUse,
  type Report,
  table,
} from '../terminal.ts';

const READ_CHUNK_BYTES = 1_048_576;

/** Reports are compared with those before, so a real report could not be distinguished from generated ones. */
const WITH_DEMO =
  'This installation uses the demo provider. The report is deleted together with the reports of the demo.';

/** Connections that one import uses. */
const CONNECTIONS = 4;

const country = z.enum(REPORT_SITE_CODES, `must be one of ${REPORT_SITE_CODES.join(', ')}`);
const saturday = z
  .string()
  .refine((text) => isDate(text) && isSaturday(text), 'must be a Saturday such as 2026-04-11')
  .optional();

const OF_SITE = { '--country <C>': `site code: ${REPORT_SITE_CODES.join(', ')}` };

const load = command({
  name: 'import',
  description:
    'imports or replaces a weekly report: JSON of the API or CSV of the seller site, plain or gzip',
  arguments: { '<FILE>': 'path of the report' },
  required: OF_SITE,
  options: { '--week <W>': 'Saturday of the week (default: as stated in the file)' },
  input: z.object({ file: z.string(), country, week: saturday }),
  connections: CONNECTIONS,
  async run({ database, config, operator, now }, { file, country: site, week }) {
    const size = await stat(file).then(
      (found) => found.size,
      () => {
        throw new OperatorError(`The file ${file} does not exist.`);
      },
    );
    const stream = createReadStream(file, { highWaterMark: READ_CHUNK_BYTES });
    const { reports: provider, products: labelsFrom } = await providersInUse(config);
    await writeLine(database, operator, {
      action: 'report.import-started',
      target: [site, week].join(' ').trim(),
    });
    const bar = showImportBar();
    try {
      const result = await importWeek(database, {
        file: stream,
        site,
        week,
        provider,
        labelsFrom,
        now,
        onProgress: (progress) => bar.reading({ ...progress, bytes: stream.bytesRead, size }),
      });
      if (provider === DEMO) result.warnings.push(WITH_DEMO);
      return { data: { country: site, ...result }, text: importText(site, result, bar.elapsedSeconds()) };
    } catch (error) {
      if (error instanceof ReportError)
        throw new OperatorError(`${file}: ${error.message}`, { cause: error });
      throw error;
    } finally {
      bar.stop();
    }
  },
});

const fetchReport = command({
  name: 'fetch',
  description: 'requests a weekly report from the Selling Partner API, waits for it and imports it',
  required: OF_SITE,
  options: { '--date <D>': 'Saturday of the week (default: the last week that has ended)' },
  input: z.object({ country, date: saturday }),
  connections: CONNECTIONS,
  async run({ database, config, operator, now }, { country: site, date }) {
    const newest = lastEndedWeek(now);
    const week = date ?? newest;
    if (week > newest)
      throw new OperatorError(`--date ${week} has not ended yet. The newest week ends on ${newest}.`);
    const credentials = credentialsFor(config, [site]);
    const providers = await providersInUse(config);
    // Loaded here, because no other command needs the client.
    const { openSellingPartner } = await import('../../upstream/selling-partner/selling-partner.ts');
    const provider = openSellingPartner(credentials, systemClock);
    await writeLine(database, operator, { action: 'report.fetch-started', target: `${site} ${week}` });
    const interrupted = new AbortController();
    const interrupt = () => interrupted.abort(new OperatorError('Interrupted. Nothing was imported.'));
    process.once('SIGINT', interrupt);
    const bar = showImportBar();
    try {
      const outcome = await fetchWeek(
        { database, provider, providers, clock: systemClock },
        {
          site,
          week,
          signal: interrupted.signal,
          onProgress(progress) {
            if (progress.stage === 'waiting') bar.waiting(`waiting (${progress.status})`);
            else bar.reading(progress);
          },
        },
      );
      if (outcome.kind === 'loaded' && providers.reports === DEMO) outcome.result.warnings.push(WITH_DEMO);
      return fetchedReport(site, week, outcome, bar.elapsedSeconds());
    } catch (error) {
      if (error instanceof ReportError || error instanceof ProviderRefusal)
        throw new OperatorError(error.message, { cause: error });
      throw error;
    } finally {
      bar.stop();
      process.off('SIGINT', interrupt);
      await provider.close();
    }
  },
});

function fetchedReport(site: string, week: string, outcome: FetchOutcome, seconds: number): Report {
  if (outcome.kind === 'loaded') {
    const { result } = outcome;
    return {
      data: { country: site, outcome: outcome.kind, ...result },
      text: importText(site, result, seconds),
    };
  }
  const reason = outcome.kind === 'failed' ? outcome.reason : null;
  return {
    data: { country: site, outcome: outcome.kind, week, reason },
    text:
      reason === null
        ? `${site}, week ending ${week}: the provider has no data.`
        : `${site}, week ending ${week}: the provider did not create the report: ${reason.replace(/\.$/, '')}. The week may not be available yet. Try again later.`,
    failed: true,
  };
}

function importText(site: string, result: ImportResult, seconds: number): string {
  const terms = result.terms.toLocaleString('en-US');
  return [
    `${site}, week ending ${result.week}: ${terms} terms ${result.replaced ? 'replaced' : 'loaded'} in ${seconds} s.`,
    ...(result.recomputed.length > 0
      ? [`Recalculated the changes of the week ending ${result.recomputed.join(', ')}.`]
      : []),
    ...result.warnings.map((warning) => `Warning: ${warning}`),
  ].join('\n');
}

const weeks = command({
  name: 'weeks',
  description: 'lists the loaded weeks, and the weeks awaited from the provider',
  async run({ database, config }) {
    const provider = (await providersInUse(config)).reports;
    const loaded = await loadedWeeks(database, provider, null);
    const awaited = await awaitedWeeks(database);
    const texts = [
      table(
        [
          ['Country', ({ site }) => site],
          ['Week ending', ({ week }) => week],
          ['Terms', ({ terms }) => terms],
        ],
        loaded,
      ),
      ...(awaited.length === 0 ? [] : [`Fetched from the provider:\n${table(AWAITED_COLUMNS, awaited)}`]),
    ];
    return {
      data: {
        loaded: loaded.map(({ site, week, terms, importId }) => ({ country: site, week, terms, importId })),
        awaited: awaited.map(({ site, ...facts }) => ({ country: site, ...facts })),
      },
      text: texts.join('\n\n'),
    };
  },
});

const AWAITED_COLUMNS: readonly Column<AwaitedWeek>[] = [
  ['Country', ({ site }) => site],
  ['Week ending', ({ week }) => week],
  ['Failed attempts', ({ attempts }) => attempts],
  ['Next attempt', ({ nextAttemptAt }) => nextAttemptAt],
  ['Reason', ({ reason }) => reason ?? 'report requested'],
];

const clear = command({
  name: 'clear',
  description: 'deletes all weekly reports, for example those of another provider',
  async run({ database, operator }) {
    await writeLine(database, operator, { action: 'reports.deleted' });
    await deleteReports(database);
    return { data: { cleared: true }, text: 'Deleted all weekly reports.' };
  },
});

/** A progress bar of an import, on standard error. */
function showImportBar() {
  const bar = new SingleBar({
    format: '{stage} [{bar}] {percentage}% | {rows} rows | {rate} rows/s | {left} left',
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
  });
  const startedAt = performance.now();
  let readingSince = startedAt;
  bar.start(1, 0, { stage: 'reading', rows: 0, rate: '-', left: '-' });
  return {
    /** Shows a stage before the size is known. */
    waiting(what: string) {
      readingSince = performance.now();
      bar.update(0, { stage: what });
    },
    /** @param progress.size 0 if it is not known. */
    reading(progress: { stage: ImportStage; rows: number; bytes: number; size: number }) {
      const { stage, rows, bytes, size } = progress;
      const seconds = (performance.now() - readingSince) / 1000;
      const left = size > 0 ? `${Math.ceil((seconds / Math.max(1, bytes)) * (size - bytes))} s` : '?';
      bar.setTotal(Math.max(1, size));
      bar.update(Math.min(bytes, Math.max(1, size)), {
        stage,
        rows: rows.toLocaleString('en-US'),
        rate: Math.round(rows / seconds).toLocaleString('en-US'),
        left: stage === 'reading' ? left : '-',
      });
    },
    stop: () => bar.stop(),
    elapsedSeconds: () => Math.max(1, Math.round((performance.now() - startedAt) / 1000)),
  };
}

export const abaCommands = group('aba', 'manages the weekly search-term reports of brand analytics', [
  load,
  fetchReport,
  weeks,
  clear,
]);
