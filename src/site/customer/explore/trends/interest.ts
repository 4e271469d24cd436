import type { ChartSeries } from '../../../kit/time-chart.tsx';

/** The interest in a keyword. */
export interface Value {
  query: string;
  value: number;
  hasData: boolean;
}

/** The data of the call for interest over time. */
export interface TimelineData {
  timelineData: { timestamp: number; date: string; values: Value[] }[];
}

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
