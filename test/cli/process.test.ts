import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { soukProcess } from '../support/souk-command.ts';

const DATA_DIR = { SOUK_DATA_DIR: '/nonexistent/souk' };

test('exits with 0 and prints to stdout only after success', async () => {
  const { url, drop } = await createTestDatabase();
  const { code, stdout, stderr } = await soukProcess({ ...DATA_DIR, DATABASE_URL: url }).run(
    'plan list --json',
  );
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual(expect.arrayContaining([expect.objectContaining({ code: 'trial' })]));
  await drop();
});

test.each([
  ['a failure', 'account list', 1, /^DATABASE_URL is not set/],
  ['a usage error', 'frobnicate', 2, /unknown command 'frobnicate'/],
])('exits with the code of %s and prints a message to stderr only', async (_, line, code, sentence) => {
  const result = await soukProcess(DATA_DIR).run(line);
  expect([result.code, result.stdout]).toEqual([code, '']);
  expect(result.stderr).toMatch(sentence);
});
