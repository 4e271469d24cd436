import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEFECTS } from '../support/soak/planted/defects.ts';

test.each(DEFECTS)('the defect $name can be planted: $what', ({ edits }) => {
  for (const { file, find, replace } of edits) {
    const text = readFileSync(file, 'utf8');
    expect(text.split(find).length - 1, `${file}: ${find}`).toBe(1);
    expect(text.replace(find, () => replace)).not.toBe(text);
  }
});

test('at least thirty defects have names of their own', () => {
  expect(new Set(DEFECTS.map(({ name }) => name)).size).toBe(DEFECTS.length);
  expect(DEFECTS.length).toBeGreaterThanOrEqual(30);
});
