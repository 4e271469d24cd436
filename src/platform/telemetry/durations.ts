import type { Histogram, Registry } from 'prom-client';

/** Adds a duration to those of a label value. */
export type Durations = (label: string, seconds: number) => void;

interface Sums {
  /** Durations by their bucket; those that exceed all buckets are last. */
  counts: number[];
  seconds: number;
}

/**
 * Creates a histogram whose values are made for prom-client only when metrics are read, like those of a tally. An observation of
 * prom-client takes about a microsecond.
 * @param seconds the upper bounds of the buckets, in order.
 */
export function createDurations(
  registry: Registry,
  { name, help, label, seconds: bounds }: { name: string; help: string; label: string; seconds: number[] },
): Durations {
  const sumsBy = new Map<string, Sums>();

  const valuesOf = ([value, { counts, seconds }]: [string, Sums]): HistogramValue[] => {
    const labels = { [label]: value };
    let count = 0;
    const buckets = [...bounds, '+Inf'].map((le, i) => {
      count += counts[i] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: seconds },
      { metricName: `${name}_count`, labels, value: count },
    ];
  };
  const get = async () => ({
    ...{ name, help, type: 'histogram', aggregator: 'sum' },
    values: [...sumsBy].flatMap(valuesOf),
  });
  // A registry needs nothing else of a metric.
  registry.registerMetric({ name, get } as unknown as Histogram);

  return (value, seconds) => {
    let sums = sumsBy.get(value);
    if (!sums) {
      sums = { counts: Array.from({ length: bounds.length + 1 }, () => 0), seconds: 0 };
      sumsBy.set(value, sums);
    }
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket += 1;
    sums.counts[bucket] = (sums.counts[bucket] as number) + 1;
    sums.seconds += seconds;
  };
}

interface HistogramValue {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}
