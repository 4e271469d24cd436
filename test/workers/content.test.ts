import { expect, test } from 'vitest';
import type { QueuedOperation } from '../../src/operations/define.ts';
import { present } from '../../workers/produce.ts';

test.each([
  ['no fields', {}, undefined],
  ['no fields, and metadata', {}, { notes: ['none'] }],
  ['fields', { count: 1, title: 'Müller' }, undefined],
  ['fields and metadata', { count: 1 }, { stale: true }],
])('an answer with %s is valid JSON that says whether it was cached', async (_what, data, metadata) => {
  const operation = {
    price: { quote: () => 1 },
    respond: { type: 'json', present: () => ({ data, ...(metadata ? { metadata } : {}) }) },
  } as unknown as QueuedOperation;
  const content = await present(operation, {}, new Map(), {
    mode: 'live',
    now: 0,
    staleSince: null,
    failures: new Map(),
  });
  for (const fromCache of [true, false]) {
    const text = `${content.head(fromCache)}${content.rest.toString()}`;
    const rest = metadata ? { metadata } : {};
    expect(JSON.parse(text)).toEqual({ code: '0000', msg: 'success', data: { fromCache, ...data }, ...rest });
  }
});
