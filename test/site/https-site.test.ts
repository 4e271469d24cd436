import { expect } from 'vitest';
import { test } from '../support/souk-test.ts';

test.override('soukOptions', {
  workers: 0,
  pages: { publicUrl: 'https://souk.example', payments: { way: 'demo', currency: 'usd' } },
});

test('a site whose PUBLIC_URL is https tells browsers to use TLS, on pages, answers and errors', async ({
  client,
}) => {
  for (const path of ['/', '/docs', '/api/quota', '/nothing', '/healthz'])
    expect([path, (await client.raw(path)).headers['strict-transport-security']]).toEqual([
      path,
      'max-age=31536000',
    ]);
});
