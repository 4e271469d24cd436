import { expect } from 'vitest';
import { test } from '../../support/souk-test.ts';

/** The limit of free requests that the settings have by default. */
test.override('soukOptions', { limits: { freePerSecond: 20, waiting: 200 } });

test.for(['/api/quota', '/api/token'])(
  'answers each of 500 reads of %s at the same time, and then other free requests',
  async (path, { client }) => {
    const replies = await Promise.all(Array.from({ length: 500 }, () => client.get(path)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await client.get('/api/jobs')).status).toBe(200);
  },
);

test('answers each of 700 reads at the same time, those beyond 500 a second later', async ({
  souk,
  client,
}) => {
  const replies = Promise.all(Array.from({ length: 700 }, () => client.get('/api/quota')));
  await souk.clock.until('quota snapshot');
  souk.clock.advance(1_000);
  expect(new Set((await replies).map(({ status }) => status))).toEqual(new Set([200]));
});
