import { max } from 'd3-array';
import { scaleLinear, scaleUtc } from 'd3-scale';
import { area, line } from 'd3-shape';
import type { VNode } from 'preact';
import type { TokenReadingAt } from '../../operator/token-history.ts';
import { amount } from '../kit/words.tsx';

/** In SVG units. Narrow screens get a narrow drawing, so that text keeps its size. */
const SIZES = {
  'token-chart-broad': { width: 720, height: 220, times: 6 },
  'token-chart-narrow': { width: 340, height: 200, times: 4 },
} as const;

const MARGIN = { top: 14, right: 8, bottom: 26, left: 50 };

/** Readings further apart than this are not connected. */
const GAP_MS = 10 * 60_000;

/** A day has more readings than a screen can show. */
const MAX_POINTS = 300;

interface Period {
  /** Unix milliseconds. */
  from: number;
  to: number;
}

/** A chart of the tokens left over time. */
export function TokenChart({ readings, ...period }: Period & { readings: readonly TokenReadingAt[] }): VNode {
  if (readings.length < 2) return <p class="muted">No readings yet. Workers record one per minute.</p>;
  return (
    <>
      {(['token-chart-broad', 'token-chart-narrow'] as const).map((size) => (
        <Drawing key={size} size={size} readings={readings} period={period} />
      ))}
    </>
  );
}

function Drawing(props: {
  size: keyof typeof SIZES;
  readings: readonly TokenReadingAt[];
  period: Period;
}): VNode {
  const { size, readings, period } = props;
  const { width, height, times } = SIZES[size];
  const bottom = height - MARGIN.bottom;
  const x = scaleUtc([period.from, period.to], [MARGIN.left, width - MARGIN.right]);
  const highest = max(readings, ({ left }) => left) ?? 0;
  const y = scaleLinear([0, Math.max(highest, 1)], [bottom, MARGIN.top]).nice(4);
  const points = withGaps(thinned(readings));
  const isKnown = (point: TokenReadingAt | null) => point !== null;
  const across = (point: TokenReadingAt | null) => x(point?.at ?? 0);
  const up = (point: TokenReadingAt | null) => y(Math.max(0, point?.left ?? 0));
  const curve = line(across, up).defined(isKnown).digits(1);
  const ground = area(across, bottom, up).defined(isKnown).digits(1);
  const time = x.tickFormat(times, '%H:%M');
  return (
    <div class={`chart ${size}`}>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={describe(readings)}>
        {y.ticks(4).map((tick) => (
          <g key={tick} transform={`translate(0 ${y(tick)})`}>
            <line class="token-rule" x1={MARGIN.left} x2={width - MARGIN.right} />
            <text x={MARGIN.left - 8} dy="0.32em" text-anchor="end">
              {amount(tick)}
            </text>
          </g>
        ))}
        {x.ticks(times).map((tick) => (
          <text key={Number(tick)} x={x(tick)} y={height - 8} text-anchor="middle">
            {time(tick)}
          </text>
        ))}
        <path class="token-area" d={ground(points) ?? ''} />
        <path class="token-line" d={curve(points) ?? ''} />
      </svg>
    </div>
  );
}

/** Selects evenly spaced readings, including the newest. */
function thinned(readings: readonly TokenReadingAt[]): TokenReadingAt[] {
  const every = Math.ceil(readings.length / MAX_POINTS);
  return readings.filter((_, i) => (readings.length - 1 - i) % every === 0);
}

function withGaps(readings: readonly TokenReadingAt[]): (TokenReadingAt | null)[] {
  return readings.flatMap((point, i) => {
    const before = readings[i - 1];
    const isGap = before !== undefined && point.at.getTime() - before.at.getTime() > GAP_MS;
    return isGap ? [null, point] : [point];
  });
}

function describe(readings: readonly TokenReadingAt[]): string {
  const all = readings.map(({ left }) => left);
  return `Tokens left in the last 24 hours, in UTC: from ${amount(Math.min(...all))} to ${amount(Math.max(...all))}, now ${amount(all.at(-1) ?? 0)}.`;
}
