import type { VNode } from 'preact';
import { type Column, Table } from '../../../kit/table.tsx';
import { Dash } from '../../../kit/words.tsx';
import { mapOf, type Region, RegionMap, Scale } from './region-map.tsx';

/** The data of the call for interest by region. */
export interface RegionsData {
  keywords: string[];
  /** Shares of the keywords in a region, or one keyword compared with its best region. */
  valueMode: 'percentage' | 'index';
  regions: Region[];
}

const BARS_SHOWN = 25;

/** Interest by region: a map if there is one of these regions, bars of the first ones, and a table of all. */
export function RegionsInterest({ data }: { data: RegionsData }): VNode {
  const { keywords, valueMode } = data;
  const known = data.regions.filter(({ values }) => values.some(({ hasData }) => hasData));
  if (known.length === 0) return <p class="empty">Too few people searched for these words.</p>;
  const unit = valueMode === 'percentage' ? ' %' : '';
  const map = mapOf(known);
  return (
    <>
      <p class="hint">
        {valueMode === 'percentage'
          ? 'Shares of the keywords in a region.'
          : '100 is the region with the highest interest.'}
        {map && keywords.length > 1 && ' A region has the colour of the keyword with the largest share.'}
      </p>
      {(map || keywords.length > 1) && <Scale keywords={keywords} unit={unit} />}
      {map && <RegionMap map={map} regions={known} keywords={keywords} unit={unit} />}
      {known.length > BARS_SHOWN && (
        <p class="hint">
          The first {BARS_SHOWN} of {known.length} regions:
        </p>
      )}
      <RegionBars regions={known.slice(0, BARS_SHOWN)} unit={unit} />
      <details>
        <summary>Show as a table</summary>
        <Table name="Interest by region" columns={columnsFor(keywords, unit)} rows={data.regions} />
      </details>
    </>
  );
}

/** One bar for each keyword. */
function RegionBars({ regions, unit }: { regions: readonly Region[]; unit: string }): VNode {
  return (
    <dl class="bars">
      {regions.map(({ geoCode, geoName, values }) => (
        <div key={geoCode ?? geoName}>
          <dt>{geoName}</dt>
          {values.map(({ query, value }, i) => (
            <dd key={query}>
              <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <rect width={value} height="10" class={`series-${i + 1}`} />
              </svg>
              <span>
                {values.length > 1 && <span class="aside">{query}: </span>}
                {value}
                {unit}
              </span>
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

function columnsFor(keywords: readonly string[], unit: string): Column<Region>[] {
  return [
    ['Region', ({ geoName }) => geoName, 'row'],
    ['Code', ({ geoCode }) => geoCode ?? <Dash />],
    ...keywords.map(
      (keyword, i): Column<Region> => [
        keyword,
        ({ values }) => (values[i]?.hasData ? `${values[i].value}${unit}` : <Dash />),
        'number',
      ],
    ),
  ];
}
