import type { VNode } from 'preact';
import type { ChartSeries } from '../../../kit/time-chart.tsx';

interface Value {
  query: string;
  value: number;
  hasData: boolean;
}

/** The data of the call for interest over time. */
export interface TimelineData {
  timelineData: { timestamp: number; date: string; values: Value[] }[];
}

/** The data of the call for interest by region. */
export interface RegionsData {
  keywords: string[];
  valueMode: 'percentage' | 'index';
  regions: { geoCode: string | null; geoName: string; values: Value[] }[];
}

const REGIONS_SHOWN = 25;

/** One series for each keyword. A period without data is a gap. */
export function interestSeries({ timelineData }: TimelineData): ChartSeries[] {
  const keywords = timelineData[0]?.values.map(({ query }) => query) ?? [];
  return keywords.map((name, i) => ({
    ...{ name, scale: 'index', shown: true },
    points: timelineData.map(({ timestamp, values }) => {
      const one = values[i];
      return [timestamp * 1000, one?.hasData ? one.value : null] as const;
    }),
  }));
}

/** Bars of the regions with the highest interest in the first keyword, one bar for each keyword. */
export function RegionBars({ data }: { data: RegionsData }): VNode {
  const { regions, keywords, valueMode } = data;
  if (regions.length === 0) return <p class="empty">Too few people searched for these words.</p>;
  const unit = valueMode === 'percentage' ? ' %' : '';
  return (
    <>
      <p class="hint">
        {valueMode === 'percentage'
          ? 'Shares of the keywords in a region.'
          : '100 is the region with the highest interest.'}
        {regions.length > REGIONS_SHOWN && ` The first ${REGIONS_SHOWN} of ${regions.length} regions.`}
      </p>
      {keywords.length > 1 && (
        <ul class="legend">
          {keywords.map((name, i) => (
            <li key={name}>
              <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
                <rect width="10" height="10" class={`series-${i + 1}`} />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      )}
      <dl class="bars">
        {regions.slice(0, REGIONS_SHOWN).map(({ geoCode, geoName, values }) => (
          <div key={geoCode ?? geoName}>
            <dt>{geoName}</dt>
            {values.map(({ query, value }, i) => (
              <dd key={query}>
                <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                  <rect width={value} height="10" class={`series-${i + 1}`} />
                </svg>
                <span>
                  {keywords.length > 1 && <span class="aside">{query}: </span>}
                  {value}
                  {unit}
                </span>
              </dd>
            ))}
          </div>
        ))}
      </dl>
    </>
  );
}
