import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { readSheet } from 'read-excel-file/node';
import { expect, onTestFinished } from 'vitest';
import { createProgram } from '../../clients/typescript/src/command/program.ts';
import { Souk } from '../../clients/typescript/src/index.ts';
import { mediaTypeOf, TABLE_FORMAT_NAMES } from '../../src/operations/tables/formats.ts';
import { newAsin } from '../support/answers.ts';
import { asinsFrom, callsOf } from '../support/batches.ts';
import { test as withService } from '../support/souk-test.ts';

/** Tests of tables as files: the methods of the client library and its command, against a service. */
const test = withService
  .extend('api', ({ client, upstream: _ }) => new Souk({ baseUrl: client.baseUrl, apiKey: client.key }))
  .extend('command', ({ client, upstream: _ }) => async (args: string[]) => {
    const written: Uint8Array[] = [];
    const program = createProgram({
      env: { SOUK_URL: client.baseUrl, SOUK_API_KEY: client.key },
      write: (text) => written.push(Buffer.from(text)),
      signal: new AbortController().signal,
    });
    await program.exitOverride().parseAsync(args, { from: 'user' });
    return Buffer.concat(written);
  });

const ask = (...asins: string[]) => ({ country: 'us', asins, detailLevel: 'summary' }) as const;

function exact({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

test('a call with a format returns a file with the name of the service, in each form', async ({
  souk,
  api,
}) => {
  const day = new Date(souk.clock.now()).toISOString().slice(0, 10);
  for (const format of TABLE_FORMAT_NAMES) {
    const asin = newAsin();
    const { data, meta } = await api.market.product(ask(asin), { format, table: 'products' }).withMeta();
    expect(data.name).toBe(`souk-products-us-${asin}-${day}.${format}`);
    expect([data.type.split(';')[0], meta.units]).toEqual([mediaTypeOf(format), 1]);
    const bytes = await data.arrayBuffer();
    if (format === 'csv') expect(await data.text()).toMatch(new RegExp(`^asin,.*\n${asin},us,`));
    if (format === 'ndjson') expect(JSON.parse(await data.text())).toMatchObject({ asin });
    if (format === 'parquet') expect(await parquetReadObjects({ file: bytes })).toMatchObject([{ asin }]);
    if (format === 'xlsx') expect((await readSheet(Buffer.from(bytes)))[1]?.[0]).toBe(asin);
  }
});

test('a call that is accepted as a job returns the table of its result', async ({ api }) => {
  const asin = newAsin();
  const headers = { prefer: 'respond-async' };
  const file = await api.market.product(ask(asin), { format: 'parquet', table: 'products', headers });
  expect(await parquetReadObjects({ file: await file.arrayBuffer() })).toMatchObject([{ asin }]);
});

test('the command calls operations that join sources', async ({ command }) => {
  const asins = [newAsin(), newAsin()].join();
  const words = `call research.compare --country us --asins ${asins} --days 2 --output csv`;
  expect((await command(words.split(' '))).toString().split('\n')).toHaveLength(2 * 2 + 2);
});

test('the result of a job is data, or a table of it', async ({ api }) => {
  const { jobId } = await api.jobs.create({ operation: 'market.product', params: ask(newAsin()) });
  const { products } = await api.jobs.result<'market.product'>(jobId);
  const file = await api.jobs.result<'market.product'>(jobId, { format: 'csv', table: 'products' });
  expect((await file.text()).split('\n')[1]).toContain(products[0]?.asin);
});

test('changes of a batch are entries, or a table', async ({ api }) => {
  const { batchId } = await api.batches.create(callsOf(asinsFrom('BCHANGES', 1)) as never);
  await api.batches.wait(batchId);
  for await (const change of api.batches.changes(batchId)) expect.fail(change.key);
  const { name, stream } = await api.batches.changes(batchId, { format: 'csv' });
  expect(name).toBe(`souk-batch-changes-${batchId.slice(-12)}.csv`);
  expect(await new Response(stream).text()).toBe('index,key,column,before,after\n');
});

test('a table that an operation lacks is refused by types and by the service', async ({ api }) => {
  // @ts-expect-error: products have no table of this name.
  const unknown = api.market.product(ask(newAsin()), { format: 'csv', table: 'moons' });
  await expect(unknown).rejects.toMatchObject({ metadata: { errors: [{ parameter: 'table' }] } });
  // @ts-expect-error: a picture has no rows.
  const picture = api.market.graphImage({ country: 'us', asin: newAsin() }, { format: 'csv' });
  await expect(picture).rejects.toMatchObject({ metadata: { errors: [{ parameter: 'format' }] } });
});

test('usage and ledger are files with a format, and pages without', async ({ api }) => {
  await api.market.product(ask(newAsin()));
  const files = [await api.billing.usage({ format: 'csv' }), await api.billing.ledger({ format: 'csv' })];
  for (const file of files) expect(file.name).toMatch(/^souk-\w+-\d{4}-\d\d-\d\d\.csv$/);
  expect((await api.billing.ledger({ limit: 1 })).ledger).toHaveLength(1);
});

test('a batch returns a table as a stream with its name, which a signal ends', async ({ api }) => {
  const asins = asinsFrom('BTABLES', 3);
  const { batchId } = await api.batches.create(callsOf(asins) as never);
  await api.batches.wait(batchId);
  const { name, stream } = await api.batches.table<'market.product'>(batchId, {
    format: 'csv',
    table: 'products',
  });
  expect(name).toMatch(/^souk-.*\.csv$/);
  expect((await new Response(stream).text()).trim().split('\n')).toHaveLength(4);
  const controller = new AbortController();
  const ended = await api.batches.table(batchId, { format: 'parquet', signal: controller.signal });
  controller.abort(new Error('the user left'));
  await expect(new Response(ended.stream).arrayBuffer()).rejects.toThrow('the user left');
});

test('the command writes the bytes of a table, and of the results of a batch', async ({ command }) => {
  const folder = mkdtempSync(join(tmpdir(), 'souk-tables-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const asin = newAsin();
  const call = ['call', 'market.product', '--country', 'us', '--detail-level', 'summary', '--asins', asin];
  const bytes = await command([...call, '--output', 'parquet', '--table', 'products']);
  expect(await parquetReadObjects({ file: exact(bytes) })).toMatchObject([{ asin }]);

  const [input, out] = [join(folder, 'items.csv'), join(folder, 'out.xlsx')];
  writeFileSync(input, `asin,detailLevel\n${asin},summary\n`);
  const batch = ['batch', input, '--operation', 'market.product', '--country', 'us', '--table', 'products'];
  await expect(command([...batch, '--out', join(folder, 'out.jsonl')])).rejects.toThrow('--table');
  await command([...batch, '--out', out]);
  expect((await readSheet(readFileSync(out))).flat()).toContain(asin);
  expect(readdirSync(folder).sort()).toEqual(['items.csv', 'out.xlsx']);
});
