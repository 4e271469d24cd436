import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import {
  type AwaitedWeek,
  awaitedWeeks,
  listImports,
  type NotedImport,
} from '../../brand-analytics/import/import-notes.ts';
import { type LoadedWeek, loadedWeeks } from '../../brand-analytics/weeks.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { count, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import { DataTable } from './data-table.tsx';

const IMPORTS_SHOWN = 30;

/** The weekly search-term reports: which weeks are there, and what is being imported. */
export function registerReports(scope: FastifyInstance, { gateway }: Pages): void {
  const { database } = gateway;

  scope.get('/admin/reports', async (request, reply) => {
    const [weeks, imports, awaited] = await Promise.all([
      loadedWeeks(database, null),
      listImports(database, IMPORTS_SHOWN),
      awaitedWeeks(database),
    ]);
    const isRunning = imports.some(({ isAlive }) => isAlive);
    return sendPage(
      reply,
      <Page title="Reports" viewer={viewerOf(request, reply)} path="/admin/reports" wide>
        <h1>Brand analytics reports</h1>
        <div id="reports" data-refresh={isRunning ? '3' : '20'}>
          <h2>Imports</h2>
          <ImportTable imports={imports} />
          {awaited.length > 0 && (
            <>
              <h2>Fetched from the provider</h2>
              <AwaitedTable weeks={awaited} />
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
  waiting: ['', 'Waits for another'],
  reading: ['busy', 'Reading'],
  saving: ['busy', 'Saving'],
  indexing: ['busy', 'Indexing'],
  done: ['good', 'Loaded'],
  failed: ['bad', 'Failed'],
} as const;

function ImportTable({ imports }: { imports: readonly NotedImport[] }): VNode {
  return (
    <DataTable
      label="Imports"
      empty="No report was imported yet."
      columns={['Begun', 'Country', 'Week to', 'State', 'Progress', 'Ended']}
      rows={imports.map((one) => [
        <Time at={one.startedAt} />,
        one.site,
        one.week ?? <span class="muted">{one.isAlive ? 'not known yet' : '-'}</span>,
        <ImportTag one={one} />,
        <Progress one={one} />,
        <Time at={one.endedAt} />,
      ])}
    />
  );
}

function ImportTag({ one: { state, isAlive } }: { one: NotedImport }): VNode {
  const isOver = state === 'done' || state === 'failed';
  if (!isOver && !isAlive) return <span class="tag bad">Broken off</span>;
  const [tone, text] = STATES[state];
  return <span class={`tag ${tone}`}>{text}</span>;
}

function Progress({ one }: { one: NotedImport }): VNode {
  const { state, rowsRead, rowsExpected, isAlive, reason } = one;
  if (reason !== null) return <span class="told">{reason}</span>;
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

function AwaitedTable({ weeks }: { weeks: readonly AwaitedWeek[] }): VNode {
  return (
    <DataTable
      label="Weeks that are fetched"
      empty="None."
      columns={['Country', 'Week to', '#Attempts in vain', 'Next attempt', 'Why not yet']}
      rows={weeks.map(({ site, week, attempts, nextAttemptAt, reason }) => [
        site,
        week,
        count(attempts),
        <Time at={nextAttemptAt} />,
        <span class="told">{reason ?? 'ordered'}</span>,
      ])}
    />
  );
}

function WeekTable({ weeks }: { weeks: readonly LoadedWeek[] }): VNode {
  const bySite = grouped(weeks);
  return (
    <DataTable
      label="Loaded weeks"
      empty="No week is loaded."
      columns={['Country', '#Weeks', 'Newest', 'Oldest', '#Terms of the newest', 'Missing between']}
      rows={[...bySite].map(([site, ofSite]) => {
        const [newest, oldest] = [ofSite[0], ofSite.at(-1)];
        const missing = newest && oldest ? weeksBetween(oldest.week, newest.week) - ofSite.length : 0;
        return [
          site,
          count(ofSite.length),
          newest?.week,
          oldest?.week,
          count(newest?.terms ?? 0),
          missing > 0 ? <span class="tag warn">{count(missing)}</span> : <span class="tag good">none</span>,
        ];
      })}
    />
  );
}

function grouped(weeks: readonly LoadedWeek[]): Map<string, LoadedWeek[]> {
  const groups = new Map<string, LoadedWeek[]>();
  for (const week of weeks) groups.set(week.site, [...(groups.get(week.site) ?? []), week]);
  return groups;
}

/** Weeks from one Saturday to another, both counted. */
function weeksBetween(oldest: string, newest: string): number {
  return (Date.parse(newest) - Date.parse(oldest)) / (7 * 86_400_000) + 1;
}
