import { describe, expect, test } from 'vitest';
import { product } from '../../../src/operations/market/product.ts';
import { canonical, faultsOf, withValue } from '../../support/parameters.ts';

const start = Date.parse('2026-01-01');
const end = Date.parse('2026-02-01');

const read = (sent: object) => canonical(product, { domain: 1, asins: 'B000000001', ...sent });
const faults = (sent: object) => faultsOf(product, { domain: 1, asins: 'B000000001', ...sent });

describe('the date range', () => {
  test.each([
    ['an object', { dateRange: { start, end } }],
    ['an object with digits', { dateRange: { start: String(start), end: String(end) } }],
    ['flat fields', { dateRangeStart: start, dateRangeEnd: end }],
    ['flat fields in digits', { dateRangeStart: String(start), dateRangeEnd: String(end) }],
  ])('is accepted as %s', (_, sent) => {
    const input = read(sent);
    expect(input.dateRange).toEqual({ start, end });
    expect(input).not.toHaveProperty('dateRangeStart');
  });

  test('may start and end at the same moment, from 1970 on', () => {
    expect(read({ dateRange: { start: 0, end: 0 } }).dateRange).toEqual({ start: 0, end: 0 });
  });

  test('replaces days, which then have no effect', () => {
    expect(read({ days: 7, dateRange: { start, end } })).toEqual(read({ dateRange: { start, end } }));
    expect(read({ days: '7', dateRangeStart: start, dateRangeEnd: end }).days).toBeUndefined();
  });

  test('replaces days, and invalid days are still refused', () => {
    expect(faults({ days: 0, dateRange: { start, end } })).toEqual({
      days: withValue('must be an integer of at least 1'),
    });
  });

  test.each([
    ['has no end', { dateRange: { start } }],
    ['has no start', { dateRange: { end } }],
    ['is empty', { dateRange: {} }],
    ['ends before it starts', { dateRange: { start: end, end: start } }],
    ['is before 1970', { dateRange: { start: -1, end } }],
    ['has fractions', { dateRange: { start: 0.5, end } }],
    ['has dates instead of milliseconds', { dateRange: { start: '2026-01-01', end: '2026-02-01' } }],
    ['has numbers that are too large for dates', { dateRange: { start, end: 2 ** 53 } }],
    ['has a flat start only', { dateRangeStart: start }],
    ['has a flat end only', { dateRangeEnd: end }],
    ['has a flat start twice', { dateRangeStart: [start, start], dateRangeEnd: end }],
    ['has an empty flat start', { dateRangeStart: '', dateRangeEnd: end }],
    ['has null as its start', { dateRange: { start: null, end } }],
  ])('is refused when it %s', (_, sent) => {
    expect(faults(sent)).toEqual({
      dateRange: withValue('must have start and end in Unix milliseconds, with start not after end'),
    });
  });

  test.each([`${start},${end}`, `{"start":${start},"end":${end}}`, [start, end], 7, null])(
    'is refused as %j, with the names of the two flat parameters',
    (dateRange) => {
      expect(faults({ dateRange }).dateRange).toMatch(/in a query, send dateRangeStart and dateRangeEnd$/);
    },
  );
});
