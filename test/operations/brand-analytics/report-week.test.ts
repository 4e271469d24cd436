import { expect, test } from 'vitest';
import { asinOfNumber, asinToNumber } from '../../../src/brand-analytics/asin-number.ts';
import {
  isSaturday,
  lastEndedWeek,
  nearestDates,
  siteOfWord,
} from '../../../src/operations/brand-analytics/keywords.ts';
import { addDays, isDate } from '../../../src/platform/calendar.ts';

test.each([
  ['2026-04-11T23:59:59Z', '2026-04-04'],
  ['2026-04-12T00:00:00Z', '2026-04-11'],
  ['2026-04-17T12:00:00Z', '2026-04-11'],
])('at %s the last complete week ended on %s', (now, week) => {
  expect(lastEndedWeek(Date.parse(now))).toBe(week);
  expect(isSaturday(week)).toBe(true);
});

test('accepts only existing dates', () => {
  expect(['2026-02-28', '2024-02-29'].every(isDate)).toBe(true);
  expect(['2026-02-29', '2026-2-8', '2026-13-01', 'today', ''].some(isDate)).toBe(false);
});

test('weeks are seven days apart, also across a change of year', () => {
  expect(addDays('2026-01-03', -7)).toBe('2025-12-27');
});

test('lists the nearest dates first', () => {
  const dates = ['2026-03-07', '2026-03-28', '2026-03-14'];
  expect(nearestDates(dates, '2026-03-13', 2)).toEqual(['2026-03-14', '2026-03-07']);
});

test.each(['B0GSZ3B4PP', '0306406152', 'ZZZZZZZZZZ', '000000000X'])(
  '%s is unchanged after conversion to a number and back',
  (asin) => {
    expect(Number.isSafeInteger(asinToNumber(asin))).toBe(true);
    expect(asinOfNumber(asinToNumber(asin))).toBe(asin);
  },
);

test('the id of a keyword contains its site', () => {
  expect([33, 34, 43].map(siteOfWord)).toEqual(['us', 'uk', 'mx']);
  expect([1, 32, 39, 47].map(siteOfWord)).toEqual([undefined, undefined, undefined, undefined]);
});
