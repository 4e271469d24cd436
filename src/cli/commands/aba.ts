import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { type FetchOutcome, fetchWeek } from '../../brand-analytics/fetch-week.ts';
import {
  type AwaitedWeek,
  awaitedWeeks,
  deleteReports,
  type ImportResult,
  importWeek,
} from '../../brand-analytics/import/import-week.ts';
import { ReportError } from '../../brand-analytics/import/report.ts';
import { loadedWeeks } from '../../brand-analytics/weeks.ts';
import { readConfig } from '../../config/config.ts';
import { credentialsFor } from '../../config/selling-partner.ts';
import { isSaturday, lastEndedWeek, REPORT_SITE_CODES } from '../../operations/brand-analytics/keywords.ts';
import { DEMO } from '../../operations/pools.ts';
import { writeLine } from '../../operator/audit.ts';
import { isDate } from '../../platform/calendar.ts';
import { systemClock } from '../../platform/clock.ts';
import { ProviderRefusal } from '../../upstream/selling-partner/report-provider.ts';
import {
  type Context,
  type Given,
  OperatorError,
  onDatabase,
  providersInUse,
  type Report,
  readInput,
  showImportBar,
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

const importInput = z.object({ file: z.string(), country, week: saturday });
const fetchInput = z.object({ country, date: saturday });

export function registerAba(program: Command): void {
  const aba = program.command('aba').description('manages the weekly search-term reports of brand analytics');
  const sites = `site code: ${REPORT_SITE_CODES.join(', ')}`;
  onDatabase(
    aba
      .command('import')
      .description(
        'imports or replaces a weekly report: JSON of the API or CSV of the seller site, plain or gzip',
      )
      .argument('<FILE>', 'path of the report')
      .requiredOption('--country <C>', sites)
      .option('--week <W>', 'Saturday of the week (default: as stated in the file)'),
    load,
    { connections: CONNECTIONS },
  );
  onDatabase(
    aba
      .command('fetch')
      .description('requests a weekly report from the Selling Partner API, waits for it and imports it')
      .requiredOption('--country <C>', sites)
      .option('--date <D>', 'Saturday of the week (default: the last week that has ended)'),
    fetchReport,
    { connections: CONNECTIONS },
  );
  onDatabase(
    aba.command('weeks').description('lists the loaded weeks, and the weeks awaited from the provider'),
    weeks,
  );
  onDatabase(
    aba.command('clear').description('deletes all weekly reports, for example those of another provider'),
    clear,
  );
}

async function clear({ database, operator }: Context): Promise<Report> {
  await writeLine(database, operator, { action: 'reports.deleted' });
  await deleteReports(database);
  return { data: { cleared: true }, text: 'Deleted all weekly reports.' };
}

async function load({ database, env, operator, now }: Context, given: Given): Promise<Report> {
  const { file, country: site, week } = readInput(importInput, given);
  const size = await stat(file).then(
    (found) => found.size,
    () => {
      throw new OperatorError(`The file ${file} does not exist.`);
    },
  );
  const stream = createReadStream(file, { highWaterMark: READ_CHUNK_BYTES });
  const { reports: provider, products: labelsFrom } = await providersInUse(readConfig(env));
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
    if (error instanceof ReportError) throw new OperatorError(`${file}: ${error.message}`, { cause: error });
    throw error;
  } finally {
    bar.stop();
  }
}

async function fetchReport({ database, env, operator, now }: Context, given: Given): Promise<Report> {
  const { country: site, date } = readInput(fetchInput, given);
  const newest = lastEndedWeek(now);
  const week = date ?? newest;
  if (week > newest)
    throw new OperatorError(`--date ${week} has not ended yet. The newest week ends on ${newest}.`);
  const config = readConfig(env);
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
}

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

async function weeks({ database, env }: Context): Promise<Report> {
  const provider = (await providersInUse(readConfig(env))).reports;
  const [loaded, awaited] = await Promise.all([
    loadedWeeks(database, provider, null),
    awaitedWeeks(database),
  ]);
  const rows = loaded.map(({ site, week, terms }) => [site, week, terms]);
  return {
    data: {
      loaded: loaded.map(({ site, week, terms, importId }) => ({ country: site, week, terms, importId })),
      awaited: awaited.map(({ site, ...facts }) => ({ country: site, ...facts })),
    },
    text: [table(['Country', 'Week ending', 'Terms'], rows), ...awaitedText(awaited)].join('\n\n'),
  };
}

function awaitedText(awaited: readonly AwaitedWeek[]): string[] {
  if (awaited.length === 0) return [];
  const rows = awaited.map(({ site, week, attempts, nextAttemptAt, reason }) => [
    site,
    week,
    attempts,
    nextAttemptAt,
    reason ?? 'report requested',
  ]);
  const columns = ['Country', 'Week ending', 'Failed attempts', 'Next attempt', 'Reason'];
  return [`Fetched from the provider:\n${table(columns, rows)}`];
}
