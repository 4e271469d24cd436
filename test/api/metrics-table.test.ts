import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** Names of cookies look like names of metrics. */
const COOKIES = [
  ...'souk_device souk_device_sso souk_form souk_pending souk_session'.split(' '),
  ...'souk_connect souk_connect_resume souk_connect_session'.split(' '),
];

/** Names of metrics in a text. */
const namesIn = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

const declared = ['src', 'jobs', 'workers']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => namesIn(readFileSync(join(folder, name), 'utf8'), /'(souk_\w+)'/g)),
  )
  .filter((name) => !COOKIES.includes(name));

test('docs/operating/monitoring.md has exactly the declared metrics', () => {
  const rows = readFileSync('docs/operating/monitoring.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `souk_'));
  const documented = rows.flatMap((row) => namesIn(row.split(' | ')[0] ?? '', /`(souk_\w+)`/g));
  expect(declared.length).toBeGreaterThan(10);
  expect(documented.sort()).toEqual([...declared].sort());
});
