import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { openReportServer, type ReportServer } from '../support/report-server.ts';
import { csvReport, jsonReport, ranked, reportEntry } from '../support/reports.ts';
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

test('import imports a report, and replaces its week when it is imported again', async () => {
  const path = await file('good.csv', csvReport('2026-03-07', ranked('one', 'two')));
  const loaded = await command.json(['aba', 'import', path, '--country', 'us']);
  expect(loaded).toMatchObject({ country: 'us', week: '2026-03-07', terms: 2, replaced: false });
  const { code, stdout } = await command.run(['aba', 'import', path, '--country', 'us']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^us, week ending 2026-03-07: 2 terms replaced in \d+ s\.\n$/);
  expect(await command.json('aba weeks')).toMatchObject({
    loaded: [{ country: 'us', week: '2026-03-07', terms: 2 }],
    awaited: [],
  });
});

test('weeks lists imported weeks, and weeks with a pending fetch until they are imported', async () => {
  const client = new pg.Client({ connectionString: created.url });
  await client.connect();
  // The week of `us` that ends on 2026-03-07 was imported from a file.
  await client.query(
    `insert into aba_fetches (site, week, report_id, attempts, next_attempt_at, reason) values
      (3, '2026-03-14', null, 2, '2026-03-16T08:30:00Z', 'Not ready.'),
      (5, '2026-03-14', 'R1', 0, '2026-03-16T07:00:00Z', null),
      (1, '2026-03-07', null, 1, '2026-03-16T06:00:00Z', 'Not ready.')`,
  );
  try {
    const { awaited } = (await command.json('aba weeks')) as { awaited: unknown };
    expect(awaited).toEqual([
      {
        country: 'jp',
        week: '2026-03-14',
        attempts: 0,
        nextAttemptAt: '2026-03-16T07:00:00.000Z',
        reason: null,
      },
      {
        country: 'de',
        week: '2026-03-14',
        attempts: 2,
        nextAttemptAt: '2026-03-16T08:30:00.000Z',
        reason: 'Not ready.',
      },
    ]);
    const { stdout } = await command.run('aba weeks');
    expect(stdout).toMatch(/us\s+│\s+2026-03-07\s+│\s+2\b/);
    expect(stdout).toMatch(/jp\s+│\s+2026-03-14\s+│\s+0\s+│\s+2026-03-16 07:00 UTC\s+│\s+report requested/);
    expect(stdout).toMatch(/de\s+│\s+2026-03-14\s+│\s+2\s+│\s+2026-03-16 08:30 UTC\s+│\s+Not ready\./);
    expect(stdout.match(/2026-03-07/g)).toHaveLength(1);
  } finally {
    await client.query('delete from aba_fetches');
    await client.end();
  }
});

test.each([
  ['a broken file', 'bad.csv', 'us', /bad\.csv: Line 2: must name the columns/],
  ['a missing file', null, 'us', /The file .*missing\.csv does not exist\./],
  ['a site without brand analytics', 'bad.csv', 'in', /--country must be one of us, uk/],
])('%s ends with exit code 1 and an error message', async (_, name, country, sentence) => {
  const path = name ? await file(name, 'a\nb,c\n') : join(folder, 'missing.csv');
  const { code, stderr } = await command.run(['aba', 'import', path, '--country', country]);
  expect(code).toBe(1);
  expect(stderr).toMatch(sentence);
});

describe('aba fetch', () => {
  let server: ReportServer;
  let settings: Record<string, string>;
  beforeAll(async () => {
    server = await openReportServer();
    const { clientId, clientSecret, refreshTokens } = server.credentials;
    settings = {
      SP_API_BASE_URL: server.url,
      SP_API_CLIENT_ID: clientId,
      SP_API_CLIENT_SECRET: clientSecret,
      SP_API_REFRESH_TOKENS: `eu=${refreshTokens.eu}`,
    };
  });
  afterAll(() => server.close());

  test('requests a week and imports it, after the reports of another provider were deleted', async () => {
    const document = Buffer.from(jsonReport('2026-03-14', [reportEntry('kettle', 1, 1)]));
    server.reports.push({ statuses: ['DONE'], document });
    const words = 'aba fetch --country uk --date 2026-03-14 --json';
    const refused = await command.run(words, settings);
    expect(refused.stderr).toContain('The database holds reports of the provider amazon');
    expect(await command.json('aba clear')).toEqual({ cleared: true });
    const { code, stdout } = await command.run(words, settings);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      country: 'uk',
      outcome: 'loaded',
      week: '2026-03-14',
      terms: 1,
    });
  });

  test('ends with exit code 1 and the reason if the provider did not create the report', async () => {
    server.reports.push({ statuses: ['FATAL'], document: Buffer.from('{"errorDetails":"Not ready."}') });
    const { code, stdout } = await command.run('aba fetch --country uk --date 2026-03-21', settings);
    expect(code).toBe(1);
    expect(stdout).toBe(
      'uk, week ending 2026-03-21: the provider did not create the report: Not ready. The week may not be available yet. Try again later.\n',
    );
  });

  test.each([
    ['a region without an account', '--country jp', /^Not set: SP_API_REFRESH_TOKENS \(fe\)\. /],
    ['a date that is not a Saturday', '--country uk --date 2026-03-20', /--date must be a Saturday/],
    ['a week that has not ended', '--country uk --date 2096-03-17', /2096-03-17 has not ended yet/],
  ])('%s ends with exit code 1 and an error message', async (_, words, sentence) => {
    const { code, stderr } = await command.run(`aba fetch ${words}`, settings);
    expect(code).toBe(1);
    expect(stderr).toMatch(sentence);
  });
});
