import { group } from 'd3-array';
import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import {
  type AwaitedWeek,
  awaitedWeeks,
  listImports,
  type NotedImport,
} from '../../brand-analytics/import/import-week.ts';
import { type LoadedWeek, loadedWeeks } from '../../brand-analytics/weeks.ts';
import { Tag, ToneTag } from '../kit/elements.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table, tableOf } from '../kit/table.tsx';
import { count, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const IMPORTS_SHOWN = 30;

/** Registers the page of weekly search-term reports: loaded weeks, imports and pending weeks. */
export function registerReports(scope: FastifyInstance, { database, providers }: Pages): void {
  scope.get('/admin/reports', async (_request, reply) => {
    const [weeks, imports, awaited] = await Promise.all([
      loadedWeeks(database, providers.reports, null),
      listImports(database, IMPORTS_SHOWN),
      awaitedWeeks(database),
    ]);
    const isRunning = imports.some(({ isAlive }) => isAlive);
    return sendPage(
      reply,
      <Page title="Reports" heading="Brand analytics reports" wide>
        <div id="reports" data-refresh={isRunning ? '3' : '20'}>
          <h2>Imports</h2>
          <ImportTable rows={imports} />
          {awaited.length > 0 && (
            <>
              <h2>Waiting for the provider</h2>
              <AwaitedTable rows={awaited} />
            </>
          )}
          <h2>Loaded weeks</h2>
          <WeekTable weeks={weeks} />
        </div>
        <p class="hint">
          <code>npm run souk -- aba import FILE --country C</code> loads a week from a file,{' '}
          <code>aba fetch</code> from the provider.
        </p>
      </Page>,
    );
  });
}

const STATES = {
  waiting: ['', 'Waiting for another import'],
  reading: ['busy', 'Reading'],
  saving: ['busy', 'Saving'],
  indexing: ['busy', 'Indexing'],
  done: ['good', 'Loaded'],
  failed: ['bad', 'Failed'],
} as const;

const ImportTable = tableOf<NotedImport>('Imports', 'No imports yet.', [
  ['Started', ({ startedAt }) => <Time at={startedAt} />],
  ['Country', ({ site }) => site],
  ['Week ending', ({ week, isAlive }) => week ?? <span class="muted">{isAlive ? 'unknown' : '-'}</span>],
  ['State', (one) => <ImportTag one={one} />],
  ['Progress', (one) => <Progress one={one} />],
  ['Ended', ({ endedAt }) => <Time at={endedAt} />],
]);

function ImportTag({ one: { state, isAlive } }: { one: NotedImport }): VNode {
  const isOver = state === 'done' || state === 'failed';
  if (!isOver && !isAlive) return <Tag tone="bad">Interrupted</Tag>;
  return <ToneTag of={STATES[state]} />;
}

function Progress({ one }: { one: NotedImport }): VNode {
  const { state, rowsRead, rowsExpected, isAlive, reason } = one;
  if (reason !== null) return <span class="long-text">{reason}</span>;
  const rows = `${count(rowsRead)} rows`;
  if (!isAlive || rowsExpected === null || state === 'done') return <span>{rows}</span>;
  const text = `${rows} of about ${count(rowsExpected)}`;
  return (
    <>
      <progress max={rowsExpected} value={Math.min(rowsRead, rowsExpected)} aria-label={text} />
      <small>{text}</small>
    </>
  );
}

const AwaitedTable = tableOf<AwaitedWeek>('Weeks awaited from the provider', 'None.', [
  ['Country', ({ site }) => site],
  ['Week ending', ({ week }) => week],
  ['Failed attempts', ({ attempts }) => count(attempts), 'number'],
  ['Next attempt', ({ nextAttemptAt }) => <Time at={nextAttemptAt} />],
  ['Reason', ({ reason }) => <span class="long-text">{reason ?? 'report requested'}</span>],
]);

function WeekTable({ weeks }: { weeks: readonly LoadedWeek[] }): VNode {
  return (
    <Table
      name="Loaded weeks"
      empty="No weeks loaded."
      rows={[...group(weeks, ({ site }) => site)].map(([site, ofSite]) => coverageOf(site, ofSite))}
      columns={[
        ['Country', ({ site }) => site],
        ['Weeks', ({ weeks }) => count(weeks), 'number'],
        ['Newest', ({ newest }) => newest?.week],
        ['Oldest', ({ oldest }) => oldest?.week],
        ['Terms in newest week', ({ newest }) => count(newest?.terms ?? 0), 'number'],
        [
          'Missing weeks',
          ({ missing }) =>
            missing > 0 ? <Tag tone="warn">{count(missing)}</Tag> : <Tag tone="good">none</Tag>,
        ],
      ]}
    />
  );
}

/** @param weeks the newest first. */
function coverageOf(site: string, weeks: readonly LoadedWeek[]) {
  const [newest, oldest] = [weeks[0], weeks.at(-1)];
  const missing = newest && oldest ? weeksBetween(oldest.week, newest.week) - weeks.length : 0;
  return { site, weeks: weeks.length, newest, oldest, missing };
}

/** The number of weeks from one Saturday to another, including both. */
function weeksBetween(oldest: string, newest: string): number {
  return (Date.parse(newest) - Date.parse(oldest)) / (7 * 86_400_000) + 1;
}
