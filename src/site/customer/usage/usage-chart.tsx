import { max } from 'd3-array';
import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import type { VNode } from 'preact';
import { count } from '../../kit/words.tsx';
import type { Measure, UsageDay, UsageSeries } from './usage-series.ts';

/** In SVG units. Narrow screens get a narrow drawing, so that text keeps its size. */
const SIZES = {
  broad: { width: 960, height: 320, dayLabels: 10 },
  narrow: { width: 360, height: 260, dayLabels: 4 },
} as const;

const MARGIN = { top: 12, right: 4, bottom: 26, left: 46 };

const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const SHORT_DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A bar per day, stacked by operation. */
export function UsageChart({ series, measure }: { series: UsageSeries; measure: Measure }): VNode {
  return (
    <>
      {(['broad', 'narrow'] as const).map((size) => (
        <Drawing key={size} size={size} series={series} measure={measure} />
      ))}
      <ul class="legend">
        {series.names.map((name, i) => (
          <li key={name}>
            <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
              <rect class={`series-${i + 1}`} width="10" height="10" rx="2" />
            </svg>
            {name}
          </li>
        ))}
      </ul>
    </>
  );
}

function Drawing(props: { size: keyof typeof SIZES; series: UsageSeries; measure: Measure }): VNode {
  const { size, series, measure } = props;
  const { names, days } = series;
  const { width, height, dayLabels } = SIZES[size];
  const x = scaleBand(
    days.map(({ day }) => day),
    [MARGIN.left, width - MARGIN.right],
  ).padding(days.length > 31 ? 0.15 : 0.25);
  const highest = max(days, (day) => day[measure]) ?? 0;
  const y = scaleLinear([0, Math.max(highest, 1)], [height - MARGIN.bottom, MARGIN.top]).nice(4);
  const layers = stack<unknown, UsageDay, string>()
    .keys(names)
    .value((day, name) => day.bySeries[name] ?? 0)(days);
  const labelEvery = Math.ceil(days.length / dayLabels);
  return (
    <div class={`chart ${size}`}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={describe(days, measure)}>
        {y
          .ticks(4)
          .filter(Number.isInteger)
          .map((tick) => (
            <g key={tick} transform={`translate(0 ${round(y(tick))})`}>
              <line class="rule" x1={MARGIN.left} x2={width - MARGIN.right} />
              <text x={MARGIN.left - 8} dy="0.32em" text-anchor="end">
                {COMPACT.format(tick)}
              </text>
            </g>
          ))}
        {days.map((day, i) => (
          <g key={day.day} class="day" transform={`translate(${round(x(day.day) ?? 0)} 0)`}>
            <title>{titleOf(day, names)}</title>
            <rect class="ground" y={MARGIN.top} width={round(x.bandwidth())} height={height - MARGIN.top} />
            {layers.map((layer, series) => {
              const [from, to] = layer[i] ?? [0, 0];
              const tall = round(y(from) - y(to));
              return tall > 0 ? (
                <rect
                  key={layer.key}
                  class={`series-${series + 1}`}
                  y={round(y(to))}
                  width={round(x.bandwidth())}
                  height={tall}
                />
              ) : null;
            })}
            {/* Counted from the end, so that today has a label. */}
            {(days.length - 1 - i) % labelEvery === 0 && (
              <text
                x={round(x.bandwidth() / 2)}
                y={height - 8}
                text-anchor={i === days.length - 1 ? 'end' : 'middle'}
              >
                {SHORT_DAY.format(new Date(day.day))}
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

/** The tooltip of a day. */
function titleOf({ day, bySeries, units, calls }: UsageDay, names: readonly string[]): string {
  const parts = names.filter((name) => bySeries[name]).map((name) => `${name} ${count(bySeries[name] ?? 0)}`);
  return [`${day}: ${count(units)} units, ${count(calls)} calls`, ...parts].join('\n');
}

function describe(days: readonly UsageDay[], measure: Measure): string {
  const total = days.reduce((sum, day) => sum + day[measure], 0);
  const [first, last] = [days[0]?.day, days.at(-1)?.day];
  return `Bar chart of ${measure} per day from ${first} to ${last}, ${count(total)} in total. The table below has the same numbers.`;
}

/** Rounds to tenths, which are finer than any screen and keep the page small. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}
