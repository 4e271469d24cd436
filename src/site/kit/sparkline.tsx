import type { VNode } from 'preact';

const [WIDTH, HEIGHT] = [120, 30];

/** Room for the line at the edges. */
const EDGE = 2;

/**
 * A small chart of a value that holds until its next change.
 * @param props.points Unix milliseconds and values, oldest first; null: no value from then on.
 * @param props.until the end of the time. @param props.bound a value that is marked. @param props.isRank whether low values are on top.
 */
export function Sparkline(props: {
  label: string;
  points: readonly (readonly [at: number, value: number | null])[];
  until: number;
  bound?: number | undefined;
  isRank?: boolean;
}): VNode | null {
  const { label, points, until, bound, isRank = false } = props;
  const values = points.flatMap(([, value]) => (value === null ? [] : [value]));
  const [first] = points;
  if (!first || values.length === 0) return null;
  const shown = bound === undefined ? values : [...values, bound];
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const x = (at: number) => round(((at - first[0]) / Math.max(until - first[0], 1)) * WIDTH);
  const y = (value: number) => {
    const part = high === low ? 0.5 : (value - low) / (high - low);
    return round(EDGE + (isRank ? part : 1 - part) * (HEIGHT - 2 * EDGE));
  };
  const steps = points.map(([at, value], i) => {
    if (value === null) return '';
    const start = (points[i - 1]?.[1] ?? null) === null ? `M${x(at)} ${y(value)}` : `H${x(at)}V${y(value)}`;
    return `${start}H${x(points[i + 1]?.[0] ?? until)}`;
  });
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {bound !== undefined && <path class="bound" d={`M0 ${y(bound)}H${WIDTH}`} />}
      <path d={steps.join('')} />
    </svg>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
