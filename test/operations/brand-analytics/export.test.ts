import { asyncBufferFromUrl, parquetReadObjects } from 'hyparquet';
import Papa from 'papaparse';
import { expect } from 'vitest';
import { EXPORT_TABLE } from '../../../src/operations/brand-analytics/export.ts';
import { purgeFiles, writeContent } from '../../../src/results/files.ts';
import { batchOnce, finished, resultsOf, startBatch } from '../../support/batches.ts';
import type { Client } from '../../support/client.ts';
import { csvReport, load, type TestTerm } from '../../support/reports.ts';
import { test } from '../../support/souk-test.ts';
import { unitsUsed } from '../../support/units.ts';

const WEEK = '2026-04-11';
const BEFORE = '2026-04-04';
const TERMS = 2_500;

const terms: TestTerm[] = Array.from({ length: TERMS }, (_, i) => ({
  term: `garden hose ${i}`,
  // Three terms share a rank, across the end of a page that the worker reads.
  rank: i >= 999 && i <= 1_001 ? 1_000 : i + 1,
  brands: i % 11 === 0 ? ['Lumio', 'Acme'] : [],
  categories: ['Garden'],
  products:
    i % 5 === 0 ? [] : [[`B0FIRST${String(i % 20).padStart(3, '0')}`, 'A title, with "marks"', '20.5', '']],
}));

test.beforeAll(async ({ souk }) => {
  await load(
    souk.database,
    'us',
    csvReport(
      BEFORE,
      terms.slice(10).map((term, i) => ({ ...term, rank: i + 1 })),
    ),
  );
  await load(souk.database, 'us', csvReport(WEEK, terms));
});

const exported = async (client: Client, params: object) => {
  const { status, json, headers } = await client.post('/api/aba/export', { country: 'us', ...params });
  expect(json).toMatchObject({ code: '0000' });
  expect(status).toBe(200);
  return { ...json.data, headers };
};

const contentsIn = async (souk: { database: { query: (text: string) => Promise<{ rows: unknown[] }> } }) =>
  (await souk.database.query('select key, state from file_contents')).rows;

test('a dry run states the price by the rows of the week, which is then charged', async ({ client }) => {
  const quote = await client.post('/api/aba/export?dryRun=1', { country: 'us', fileFormat: 'csv' });
  expect(quote.json.data).toMatchObject({ operation: 'aba.export', units: 3, admitted: true });
  const refused = await client.post('/api/aba/export?maxUnits=2', { country: 'us', fileFormat: 'csv' });
  expect([refused.json.code, refused.json.metadata]).toEqual(['QUOTA_MAX_UNITS', { needed: 3, maxUnits: 2 }]);
  expect(await unitsUsed(client)).toBe(0);
  const { headers } = await exported(client, { fileFormat: 'csv' });
  expect([headers['x-units-consumed'], await unitsUsed(client)]).toEqual(['3', 3]);
});

test('the file has every term of the week once, in each form, like the list of ranks', async ({ client }) => {
  const { rows: ranks } = (await client.get(`/api/aba/rank?country=us&reportDate=${WEEK}&limit=20`)).json
    .data;
  const files: Record<string, unknown>[][] = [];
  for (const fileFormat of ['csv', 'ndjson', 'parquet']) {
    const { rows, file, reportDate } = await exported(client, { fileFormat });
    expect([rows, reportDate, file.name]).toEqual([TERMS, WEEK, `souk-terms-us-${WEEK}.${fileFormat}`]);
    const { body, text, headers } = await client.get(file.url);
    expect([headers['content-type'], body.length > 0]).toEqual([file.contentType, true]);
    if (fileFormat === 'csv') {
      const { data, meta } = Papa.parse<Record<string, string>>(text, { header: true, skipEmptyLines: true });
      expect(meta.fields).toEqual(EXPORT_TABLE.columns.map(({ name }) => name));
      files.push(data);
    } else if (fileFormat === 'ndjson')
      files.push(
        text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      );
    else {
      const { json } = await client.post('/api/links', { target: 'file', id: file.fileId });
      const url = json.data.url as string;
      files.push(await parquetReadObjects({ file: await asyncBufferFromUrl({ url }) }));
      const [link] = (await client.get(`/api/links?id=${file.fileId}`)).json.data.links;
      expect(link.opens).toBeGreaterThan(1);
    }
  }
  for (const file of files) {
    expect(file.map(({ keyword }) => keyword)).toEqual(terms.map(({ term }) => term));
    for (const [i, row] of ranks.entries()) {
      const { wordId, rank, lastRank, rankChange, fluctuationType, clickShareSum, brands, goods } = row;
      const [best] = goods;
      expect(file[i]).toMatchObject(
        asText(file[i], {
          wordId,
          rank,
          lastRank,
          rankChange,
          fluctuationType,
          clickShareSum,
          brands: brands.join('; ') || null,
          asin1: best?.asin ?? null,
          title1: best?.title ?? null,
          clickShare1: best?.clickShare ?? null,
          conversionShare2: null,
        }),
      );
    }
  }
});

/** CSV has texts only, and Parquet whole numbers as bigints. */
function asText(file: Record<string, unknown> | undefined, row: Record<string, string | number | null>) {
  const isCsv = typeof file?.rank === 'string';
  const isParquet = typeof file?.rank === 'bigint';
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (isCsv) return [name, value === null ? '' : String(value)];
      const isWhole = EXPORT_TABLE.columns.find((column) => column.name === name)?.type === 'integer';
      return [name, isParquet && isWhole && value !== null ? BigInt(value) : value];
    }),
  );
}

test('accounts share the content of a week, and each reads its own file only', async ({ souk, client }) => {
  const other = await souk.client();
  const [own, theirs] = [await exported(client, {}), await exported(other, {})];
  expect(theirs.headers['x-units-consumed']).toBe('3');
  expect(theirs.file.fileId).not.toBe(own.file.fileId);
  const [first, second] = [await client.get(own.file.url), await other.get(theirs.file.url)];
  expect([first.status, second.headers.etag]).toEqual([200, first.headers.etag]);
  const { status, json } = await other.get(own.file.url);
  expect([status, json.code]).toEqual([404, 'FILE_NOT_FOUND']);
  const keys = (await contentsIn(souk)).filter((one) => (one as { key: string }).key.endsWith('parquet'));
  expect(keys).toHaveLength(1);
  // The same call within five minutes joins the first one.
  const joined = await exported(client, {});
  expect([joined.headers['x-deduplicated'], joined.file]).toEqual(['true', own.file]);
});

test('a batch is quoted the highest price, and reserves that of the week', async ({ souk, client }) => {
  const lock = await souk.database.connect();
  await lock.query('begin');
  await lock.query('lock table file_contents in share mode');
  const batch = await startBatch(client, { operation: 'aba.export', items: [{ country: 'us' }] });
  try {
    const { units } = await batchOnce(souk, client, batch, ({ units }) => units.reserved > 0);
    expect(units).toEqual({ quoted: 5_000, reserved: 3, charged: 0 });
  } finally {
    await lock.query('rollback');
    lock.release();
  }
  expect((await finished(client, batch)).units).toEqual({ quoted: 5_000, reserved: 0, charged: 3 });
});

test('a batch exports several weeks', async ({ client }) => {
  const items = [WEEK, BEFORE].map((reportDate) => ({ country: 'us', reportDate, fileFormat: 'ndjson' }));
  const batch = await startBatch(client, { operation: 'aba.export', items });
  const ended = await finished(client, batch);
  const lines = await resultsOf(client, batch);
  expect(lines.map(({ data }) => [data.reportDate, data.rows])).toEqual([
    [WEEK, TERMS],
    [BEFORE, TERMS - 10],
  ]);
  expect(ended.units.charged).toBe(6);
  for (const { data } of lines) expect((await client.get(data.file.url)).status).toBe(200);
});

test('an interrupted download continues with Range', async ({ client }) => {
  const { file } = await exported(client, { fileFormat: 'csv', reportDate: BEFORE });
  const plain = { 'accept-encoding': 'identity' };
  const whole = await client.get(file.url, { headers: plain });
  const head = await client.get(file.url, { method: 'HEAD', headers: plain });
  expect(Number(head.headers['content-length'])).toBe(file.size);
  const rest = await client.get(file.url, {
    headers: { ...plain, range: 'bytes=1000-', 'if-range': head.headers.etag ?? '' },
  });
  expect(Buffer.concat([whole.body.subarray(0, 1_000), rest.body]).equals(whole.body)).toBe(true);
});

test('a cancelled export charges nothing and leaves nothing, and the next one runs', async ({
  openAnother,
}) => {
  const souk = await openAnother();
  await load(souk.database, 'us', csvReport(WEEK, terms));
  const client = await souk.client();
  const lock = await souk.database.connect();
  await lock.query('begin');
  await lock.query('lock table file_pieces in exclusive mode');
  const started = await client.post('/api/aba/export?async=1', { country: 'us', fileFormat: 'csv' });
  const { jobId } = started.json.data;
  await expect.poll(async () => (await contentsIn(souk)).length).toBe(1);
  await client.get(`/api/jobs/${jobId}`, { method: 'DELETE' });
  await souk.events.until('job.cancelled', { callId: jobId });
  await lock.query('rollback');
  lock.release();
  const ended = (await client.get(`/api/jobs/${jobId}?wait=30`)).json.data;
  expect([ended.state, ended.unitsCharged]).toEqual(['cancelled', 0]);
  expect(await unitsUsed(client)).toBe(0);
  await expect.poll(() => contentsIn(souk)).toEqual([]);
  const { rows } = await exported(client, { fileFormat: 'csv' });
  expect(rows).toBe(TERMS);
});

test('deletes expired files, then their contents, and what ended writers have left', async ({ database }) => {
  const now = Date.now();
  async function* bytes() {
    yield Buffer.from('x');
  }
  const about = { contentType: 'text/csv', isGzip: true, now: () => now };
  const failed = writeContent(
    database,
    { ...about, key: 'failed', signals: [AbortSignal.abort(new Error('stopped'))] },
    bytes(),
  );
  await expect(failed).rejects.toThrow('stopped');
  await writeContent(database, { ...about, key: 'unused' }, bytes());
  await database.query(
    `insert into file_contents (id, key, content_type, is_gzip, written_at) values (gen_random_uuid(), 'killed', '', true, $1)`,
    [new Date(now)],
  );
  const keys = async () =>
    (await database.query<{ key: string }>('select key from file_contents order by key')).rows.map(
      ({ key }) => key,
    );
  expect(await keys()).toEqual(['killed', 'unused']);
  await purgeFiles(database, now + 60_000);
  expect(await keys()).toEqual(['killed', 'unused']);
  await purgeFiles(database, now + 700_000);
  expect(await keys()).toEqual([]);
  expect((await database.query('select from file_pieces')).rowCount).toBe(0);
});
