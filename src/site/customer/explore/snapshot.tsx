import type { VNode } from 'preact';
import { isFetchError } from '../../../operations/market/product.ts';
import type { Figures } from '../../../operations/research/figures.ts';
import type { ResearchKeywordData } from '../../../operations/research/keyword.ts';
import { type Tone, ToneTag } from '../../kit/elements.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { TimeChart, type TimeChartProps, valueText } from '../../kit/time-chart.tsx';
import { Dash, Time } from '../../kit/words.tsx';

/** A figure with its name, and what is said about it. */
export interface Tile {
  name: string;
  value: string;
  note?: string | null;
  tag?: readonly [Tone, string] | null;
}

/** What a view shows of the moment of its call: plain data, so that a link shows the same later. */
export interface Snapshot {
  title: string;
  /** What it is about, such as a site and an ASIN. */
  about: string;
  /** In groups. */
  tiles: readonly (readonly Tile[])[];
  chart: TimeChartProps;
  figures: Figures;
}

/** The figures of a snapshot, and their chart. */
export function SnapshotFigures({ snapshot }: { snapshot: Pick<Snapshot, 'tiles' | 'chart'> }): VNode {
  const { tiles, chart } = snapshot;
  return (
    <>
      {tiles.map((group, i) => (
        <dl class="totals" key={i}>
          {group.map(({ name, value, note, tag }) => (
            <div class="card" key={name}>
              <dt>{name}</dt>
              <dd>
                <span class="price">{value}</span>
                {tag && <ToneTag of={tag} />}
                {note && <small>{note}</small>}
              </dd>
            </div>
          ))}
        </dl>
      ))}
      {chart.series.some(({ points }) => points.some(([, value]) => value !== null)) ? (
        <TimeChart {...chart} />
      ) : (
        <p class="empty">The provider has no history for this period.</p>
      )}
    </>
  );
}

const COLUMNS: Column<[string, Figures[string]]>[] = [
  ['Figure', ([name]) => <code>{name}</code>, 'row'],
  ['Source', ([, { source }]) => source],
  ['Date', ([, { date }]) => <FigureDate date={date} />],
  ['Formula', ([, { formula }]) => formula.replace(/\bnull\b/g, 'unknown'), 'long'],
];

function FigureDate({ date }: { date: string | null }): VNode {
  if (date?.includes('T')) return <Time at={date} />;
  return <span>{date ?? <Dash />}</span>;
}

/** Where the figures come from. */
export function Sources({ figures }: { figures: Figures }): VNode {
  return (
    <details>
      <summary>Sources, dates and formulas of the figures</summary>
      <Table name="Sources of the figures" columns={COLUMNS} rows={Object.entries(figures)} />
    </details>
  );
}

export type PartError = ResearchKeywordData['errors'][number];

/** Says which parts of an answer are missing, and why. @param props.again the address that offers the call again. */
export function MissingParts({
  errors,
  again,
}: {
  errors: readonly PartError[];
  again: string;
}): VNode | null {
  if (errors.length === 0) return null;
  const isUnfetched = errors.some(({ errorId }) => isFetchError(errorId));
  return (
    <div class="notice warn">
      {errors.map((error) => (
        <p key={error.asin ?? error.source}>{missingText(error)}</p>
      ))}
      {isUnfetched && (
        <p>
          The parts that could not be fetched were not charged. <a href={again}>Fetch them again</a>: within
          five minutes, you pay only for the missing parts.
        </p>
      )}
    </div>
  );
}

function missingText({ source, asin, errorId }: PartError): string {
  const what = source === 'trends' ? 'the search trend' : `the product ${asin}`;
  switch (errorId) {
    case 'PRODUCT_NOT_FOUND':
      return `The provider does not know the ASIN ${asin} on this site. Check the ASIN and the site.`;
    case 'PRODUCT_UNAVAILABLE':
      return `The provider has no data about ${what} on this site.`;
    case 'UPSTREAM_TIMEOUT':
      return `The provider did not send ${what} in time.`;
    case 'BUSY':
      return `There were too many calls to fetch ${what}.`;
    case 'CANCELLED':
      return `The call was cancelled before ${what} was fetched.`;
    case 'UPSTREAM_ERROR':
      return `The provider could not send ${what}.`;
  }
}

/** The day of a figure, for its tile. */
export function dayOf(figures: Figures, name: string): string | null {
  return figures[name]?.date?.slice(0, 10) ?? null;
}

/** A change with its sign; positive is better. */
export function changeText(change: number | null, format: Intl.NumberFormatOptions = {}): string {
  return valueText(change, { ...format, signDisplay: 'exceptZero' });
}
