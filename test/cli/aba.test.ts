import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { csvReport, ranked } from '../support/reports.ts';
import { type SoukCommand, soukCommand } from '../support/souk-command.ts';

let created: Awaited<ReturnType<typeof createTestDatabase>>;
let command: SoukCommand;
let folder: string;
beforeAll(async () => {
  created = await createTestDatabase();
  command = soukCommand({ DATABASE_URL: created.url });
  folder = await mkdtemp(join(tmpdir(), 'souk-reports-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await created.drop();
});

async function file(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

test('a report is loaded, and loaded again', async () => {
  const path = await file('good.csv', csvReport('2026-03-07', ranked('one', 'two')));
  const loaded = await command.json(['aba', 'import', path, '--country', 'us']);
  expect(loaded).toMatchObject({ country: 'us', week: '2026-03-07', terms: 2, replaced: false });
  const { code, stdout } = await command.run(['aba', 'import', path, '--country', 'us']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^us, week to 2026-03-07: 2 terms replaced in \d+ s\.\n$/);
  expect(await command.json('aba weeks')).toMatchObject([{ country: 'us', week: '2026-03-07', terms: 2 }]);
});

test.each([
  ['a broken file', 'bad.csv', 'us', /bad\.csv: Line 2: it should name the columns/],
  ['a file that is not there', null, 'us', /There is no file .*missing\.csv\./],
  ['a site without brand analytics', 'bad.csv', 'in', /--country must be one of us, uk/],
])('%s ends with 1 and a sentence', async (_, name, country, sentence) => {
  const path = name ? await file(name, 'a\nb,c\n') : join(folder, 'missing.csv');
  const { code, stderr } = await command.run(['aba', 'import', path, '--country', country]);
  expect(code).toBe(1);
  expect(stderr).toMatch(sentence);
});
