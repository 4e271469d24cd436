import { expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { soukProcess } from '../support/souk-command.ts';

const DATA_DIR = { SOUK_DATA_DIR: '/nonexistent/souk' };

test('a command that succeeds ends with 0 and prints to standard output only', async () => {
  const { url, drop } = await createTestDatabase();
  const { code, stdout, stderr } = await soukProcess({ ...DATA_DIR, DATABASE_URL: url }).run(
    'plan list --json',
  );
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual(expect.arrayContaining([expect.objectContaining({ code: 'trial' })]));
  await drop();
});

test.each([
  ['fails', 'account list', 1, /^DATABASE_URL is not set/],
  ['was called wrongly', 'frobnicate', 2, /unknown command 'frobnicate'/],
])(
  'a command that %s ends with its code and a sentence on standard error',
  async (_, line, code, sentence) => {
    const result = await soukProcess(DATA_DIR).run(line);
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toMatch(sentence);
  },
);
