import { expect, test } from 'vitest';
import { didYouMean } from '../../../src/operations/faults.ts';

const KNOWN = ['title', 'title', 'brand', 'current_NEW_gte', 'current_NEW_lte', 'perPage'];

test.for([
  ['titel', '; did you mean title?'],
  ['Title', '; did you mean title?'],
  ['current_NEW_let', '; did you mean current_NEW_lte?'],
  ['current_NEW', '; did you mean current_NEW_gte or current_NEW_lte?'],
  ['perpages', '; did you mean perPage?'],
  ['colour', ''],
  ['', ''],
  ['x'.repeat(61), ''],
])('suggests for %s: %s', ([name, suggestion]) => {
  expect(didYouMean(name as string, KNOWN)).toBe(suggestion);
});
