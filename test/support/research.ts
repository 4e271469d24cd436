import { DAY_MS, MINUTE_MS } from '../../src/platform/durations.ts';
import type { Script, ScriptedUpstream, UpstreamAnswer } from './scripted-upstream.ts';
import { guarded, REFUSALS } from './trends-client.ts';

/** Index minutes of a moment, Unix milliseconds. */
export const indexMinutes = (moment: number) => Math.floor(moment / MINUTE_MS) - 21_564_000;

/** The histories of a product by their index: pairs of days before a moment, and values. */
export function historyBefore(moment: number, ...series: [index: number, ...pairs: [number, number][]][]) {
  const csv: (number[] | null)[] = Array(36).fill(null);
  for (const [index, ...pairs] of series)
    csv[index] = pairs.flatMap(([days, value]) => [indexMinutes(moment - days * DAY_MS), value]);
  return csv;
}

/** Rejects each request for one of some ASINs, as a request with an invalid value. */
export function rejecting(others: Script, ...bad: string[]): Script {
  return (call, response) =>
    call.params.asin?.split(',').some((asin) => bad.includes(asin))
      ? { status: 400, json: { error: { type: 'invalidParameter', message: 'Invalid.', details: '' } } }
      : others(call, response);
}

/** Lets upstream answer questions about search interest with these points of Unix seconds and values; null: no data. */
export function answersInterest(
  upstream: ScriptedUpstream,
  points: readonly [number, number | null][],
): void {
  upstream.on('trends/explore', () => REFUSALS.gate);
  upstream.on('trends/api/explore', () =>
    guarded({
      widgets: [{ id: 'TIMESERIES', type: 'fe_line_chart', request: { resolution: 'WEEK' }, token: 't' }],
    }),
  );
  upstream.on(
    'trends/api/widgetdata/multiline',
    (): UpstreamAnswer =>
      guarded({
        default: {
          timelineData: points.map(([time, value]) => ({
            time: String(time),
            formattedTime: '',
            value: [value ?? 0],
            hasData: [value !== null],
          })),
          averages: [],
        },
      }),
  );
}

/** Returns the names of the numbers in an answer, such as `products.price`. Entries of lists count as one. */
export function numbersIn(value: unknown, name = ''): string[] {
  if (typeof value === 'number') return [name];
  if (typeof value !== 'object' || value === null) return [];
  const names = Object.entries(value).flatMap(([field, inner]) =>
    numbersIn(inner, Array.isArray(value) ? name : name === '' ? field : `${name}.${field}`),
  );
  return [...new Set(names)];
}
