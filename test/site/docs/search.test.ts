import { expect, test } from 'vitest';
import { searchGuides } from '../../../src/site/docs/search.ts';

test('finds the section whose heading has the words, before sections that mention them', () => {
  const [first] = searchGuides('signing secret');
  expect(first).toMatchObject({
    heading: 'Create a signing secret',
    address: '/docs/webhooks#create-a-signing-secret',
  });
});

test('an excerpt shows the first word', () => {
  for (const { excerpt, heading } of searchGuides('reservation'))
    expect(`${heading} ${excerpt}`.toLowerCase()).toContain('reservation');
});

test('finds nothing if a word is missing, and for a query without words', () => {
  expect(searchGuides('webhook zebra')).toEqual([]);
  expect(searchGuides('  a ')).toEqual([]);
});

test('a section after an example with a comment has its own address', () => {
  const addresses = searchGuides('python').map(({ address }) => address);
  expect(addresses).toContain('/docs/clients#python');
});
