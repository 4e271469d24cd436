import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

const README = 'src/billing/README.md';

/** The tests that the README names, by file. Names are in quotes after the file, and may be broken over lines. */
async function namedTests(): Promise<{ file: string; name: string }[]> {
  const text = (await readFile(README, 'utf8')).replace(/\s+/g, ' ');
  const [, ...parts] = text.split(/`(?=test\/)/);
  return parts.flatMap((part) => {
    const file = part.slice(0, part.indexOf('`'));
    return [...part.matchAll(/"([^"]+)"/g)].map(([, name = '']) => ({ file, name }));
  });
}

test('every test that the invariants of billing name exists', async () => {
  const named = await namedTests();
  expect(named.length).toBeGreaterThan(20);
  for (const { file, name } of named) {
    const source = (await readFile(file, 'utf8')).replace(/\s+/g, ' ');
    expect(source, `${file}: ${name}`).toContain(name);
  }
});

test('each invariant of billing has a number of its own, in order', async () => {
  const text = await readFile(README, 'utf8');
  const numbers = [...text.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number));
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
});
