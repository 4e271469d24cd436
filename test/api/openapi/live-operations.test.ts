import { describe, expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { Method, OperationObject } from '../../../src/api/openapi/schemas.ts';
import type { QueuedOperation } from '../../../src/operations/define.ts';
import { OPERATIONS, queuedOperation } from '../../../src/operations/index.ts';
import { POOLS } from '../../../src/operations/pools.ts';
import { chooseTable, namedTable } from '../../../src/operations/tables/tables.ts';
import type { Client, Reply, RequestOptions } from '../../support/client.ts';
import { conforming, createConformance } from '../../support/conformance.ts';
import { test as base } from '../../support/demo-souk-test.ts';
import { loadKeywords, OPERATION_SAMPLES, sampleOf } from '../../support/operation-samples.ts';
import { words } from '../../support/words.ts';
import { stopWorkers } from '../../support/workers.ts';

/** Compares each answer of each operation, by every method and alias, with the document. */
const conformance = createConformance(openApiDocument());

const test = base
  .extend('demoClient', { scope: 'file' }, async ({ demoSouk }) =>
    conforming(await demoSouk.client({ plan: { minuteLimit: 100_000 } }), conformance),
  )
  /** A customer without a plan. */
  .extend('poorClient', { scope: 'file' }, async ({ demoSouk }) =>
    conforming(await demoSouk.client({ plan: null }), conformance),
  )
  .extend('revokedClient', { scope: 'file' }, async ({ demoSouk }) => {
    const { key, accountId } = await demoSouk.account();
    const revokedAt = new Date(demoSouk.clock.now() - 1);
    await demoSouk.database.query('update api_keys set revoked_at = $2 where account_id = $1', [
      accountId,
      revokedAt,
    ]);
    return conforming(demoSouk.clientOf(key), conformance);
  })
  .extend('client', ({ souk, account, upstream: _ }) => conforming(souk.clientOf(account.key), conformance));

interface Address {
  id: string;
  method: Method;
  path: string;
  /** The operations of an address; several if they share it. */
  names: string[];
  selectionIn: string | null;
  charged: boolean;
  operation: OperationObject;
}

const ADDRESSES: Address[] = conformance.operations
  .filter(({ operation }) => operation['x-operation'] !== undefined)
  .map(({ operation, method, path }) => ({
    id: operation.operationId,
    method,
    path,
    names: [operation['x-operation']].flat() as string[],
    selectionIn:
      operation.parameters?.flatMap((one) =>
        'schema' in one && one.schema?.contentMediaType === 'application/json' ? one.name : [],
      )[0] ?? null,
    charged: operation['x-pool'] !== undefined,
    operation,
  }));
const CHARGED = ADDRESSES.filter(({ charged }) => charged);
/** One address of each operation with tables. */
const TABLES = CHARGED.filter(
  ({ names, path }) =>
    queuedOperation(names[0] ?? '')?.tables && !/query|deals|bestsellers|search$/.test(path),
);
const ASKING_UPSTREAM = CHARGED.filter(({ names }) => asksUpstream(names[0] ?? ''));

/** Sends a sample in the form that an address accepts. */
function send(
  client: Client,
  { method, path, names, selectionIn }: Address,
  sample: Record<string, unknown>,
  { name = names[0], query = {} }: { name?: string | undefined; query?: Record<string, string> } = {},
  options: RequestOptions = {},
): Promise<Reply> {
  const address = path.replace(/\{(\w+)\}/g, (_, field: string) => String(sample[field]));
  const withType =
    names.length > 1 && name ? { type: name.replace(/^market\.|search$/g, ''), ...query } : query;
  if (method === 'post')
    return client.post(`${address}?${new URLSearchParams(withType).toString()}`, sample, options);
  const flat = selectionIn
    ? { [selectionIn]: JSON.stringify(sample) }
    : Object.fromEntries(Object.entries(sample).map(([field, value]) => [field, String(value)]));
  return client.get(`${address}?${new URLSearchParams({ ...flat, ...withType }).toString()}`, options);
}

test('every operation has a sample', () => {
  const names = ADDRESSES.flatMap((address) => address.names);
  expect(Object.keys(OPERATION_SAMPLES).sort()).toEqual([...new Set(names)].sort());
});

describe('with the demo of the provider', () => {
  test.for(ADDRESSES)('$id answers as documented', async (address, { demoClient }) => {
    for (const name of address.names) {
      for (const sample of OPERATION_SAMPLES[name] ?? []) {
        const reply = await send(demoClient, address, sample, { name });
        expect({ sample, status: reply.status }).toEqual({ sample, status: 200 });
      }
    }
  });

  test.for(ADDRESSES)('$id answers dryRun with the quote', async (address, { demoClient, demoSouk }) => {
    const [operation = ''] = address.names;
    const sample = sampleOf(operation);
    // The document describes the quote at its own address only.
    const undocumented = demoSouk.clientOf(demoClient.key);
    const reply = await send(undocumented, address, sample, { query: { dryRun: '1' } });
    expect([reply.status, reply.json.data.dryRun]).toEqual([200, true]);
    if (!address.charged) return;
    const quote = await demoClient.post('/api/jobs/quote', { operation, params: sample });
    expect(quote.json).toEqual(reply.json);
  });

  test.for(TABLES)('$id answers with its tables', async (address, { demoSouk }) => {
    const client = await demoSouk.client({ plan: { minuteLimit: 100_000 } });
    for (const name of address.names) {
      for (const sample of OPERATION_SAMPLES[name] ?? []) {
        const input = canonicalOf(name, sample);
        const operation = queuedOperation(name) as QueuedOperation;
        for (const table of Object.keys(operation.tables ?? {})) {
          if ('fault' in chooseTable(operation, input, table)) continue;
          const reply = await send(client, address, sample, { name, query: { format: 'csv', table } });
          expect([reply.status, reply.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
          const { columns } = namedTable(operation, { ...(input as object), table });
          expect(reply.text.split('\n')[0]).toBe(columns.map((column) => column.name).join(','));
        }
      }
    }
  });

  test.for(CHARGED)('$id answers with a job as documented', async (address, { demoClient }) => {
    const options = { headers: { prefer: 'respond-async' } };
    const reply = await send(demoClient, address, sampleOf(address.names[0] ?? ''), {}, options);
    expect(reply.status).toBe(202);
  });

  test.for(ADDRESSES)(
    '$id refuses invalid requests as documented',
    async (address, { demoClient: client, poorClient: poor, revokedClient: revoked }) => {
      const sample = sampleOf(address.names[0] ?? '');
      const withoutKey = { headers: { 'x-api-key': '' } };
      expect((await send(client, address, sample, {}, withoutKey)).status).toBe(401);
      expect((await send(revoked, address, sample)).status).toBe(403);
      expect((await send(client, address, sample, { query: { dryRun: 'perhaps' } })).status).toBe(400);
      if (needsParameters(address.names[0] ?? '')) expect((await send(client, address, {})).status).toBe(400);
      if (address.charged) expect((await send(poor, address, sample)).status).toBe(429);
      if (address.method !== 'post') return;
      const sent = (contentType: string, body: string) =>
        client.post(address.path, body, { headers: { 'content-type': contentType } });
      expect((await sent('application/json', '{')).status).toBe(400);
      expect((await sent('text/plain', 'x')).status).toBe(415);
      expect((await sent('application/json', `"${'x'.repeat(70_000)}"`)).status).toBe(413);
    },
  );

  test('an unknown keyword is answered as documented', async ({ demoClient: client }) => {
    const unknown = { wordId: 16 * 999_999 + 1, country: 'us', reportDate: '2026-04-11' };
    for (const address of ADDRESSES.filter(({ path }) => path.includes('{wordId}'))) {
      const { status, json } = await send(client, address, unknown);
      expect([status, json.code]).toEqual([404, 'WORD_NOT_FOUND']);
    }
  });

  test('an unknown product family is answered as documented', async ({ demoClient: client }) => {
    const unknown = { domain: 1, asin: 'ZX00000001' };
    for (const address of ADDRESSES.filter(({ path }) => path === '/api/market/variations')) {
      const { status, json } = await send(client, address, unknown);
      expect([status, json.code]).toEqual([404, 'PRODUCT_NOT_FOUND']);
    }
  });
});

describe.each([
  ['refuses', 502, () => ({ status: 400, json: { error: {} } })],
  ['never answers', 504, () => new Promise<never>(() => {})],
] as const)('with a provider that %s', (_what, status, script) => {
  test.for(ASKING_UPSTREAM)(`$id answers ${status} as documented`, async (address, { souk, client }) => {
    for (const path of UPSTREAM) souk.upstream.on(path, script);
    const sample = sampleOf(address.names[0] ?? '');
    const reply = send(client, address, sample);
    if (status === 504) {
      await souk.upstream.received(1);
      souk.clock.advance(timeoutMsOf(address.names[0] ?? '', sample));
    }
    const { headers } = await reply;
    expect([(await reply).status, headers['x-units-consumed']]).toEqual([status, '0']);
    if (status === 504) await souk.upstream.abandoned(1);
    // Upstreams that pause after a refusal are asked again.
    souk.clock.advance(3_600_000);
  });
});

const UPSTREAM = words(`
  product query search category bestsellers seller topseller deal lightningdeal graphimage
  trends/explore trends/api/explore trending/rss _/TrendsUi/data/batchexecute
`);

test('every charged operation answers 503 as documented when no worker runs', async ({ souk, client }) => {
  await loadKeywords(souk.database);
  await stopWorkers(souk);
  for (const gateway of souk.gateways) await gateway.sampleBacklog();
  for (const address of CHARGED) {
    const reply = await send(client, address, sampleOf(address.names[0] ?? ''));
    expect([address.id, reply.status]).toEqual([address.id, 503]);
  }
});

function canonicalOf(name: string, sample: Record<string, unknown>): unknown {
  return queuedOperation(name)?.params.parse(sample);
}

function asksUpstream(name: string): boolean {
  const operation = queuedOperation(name);
  return operation !== undefined && operation.reports === undefined;
}

function needsParameters(name: string): boolean {
  const operation = OPERATIONS.find((one) => one.name === name);
  return operation?.params.safeParse({}).success === false;
}

function timeoutMsOf(name: string, sample: Record<string, unknown>): number {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`there is no operation ${name}`);
  return POOLS[operation.queue(operation.params.parse(sample))].timeoutMs;
}

test('the tests above have received every documented answer', () => {
  const missing = ADDRESSES.flatMap(({ id, names, method, charged, operation }) =>
    Object.keys(operation.responses)
      // Unexpected errors, and a call whose job another request cancels (test/api/jobs/cancel-job.test.ts).
      .filter((status) => status !== '500' && status !== '409')
      // Headers beyond the limit reach no route (test/api/malformed-input.test.ts).
      .filter((status) => !(status === '413' && method === 'get'))
      // Free answers are refused only while a store is down (test/jobs/outage.test.ts).
      .filter((status) => !(status === '503' && !charged))
      // Only a flood of free requests is refused (test/api/limits/free-requests.test.ts).
      .filter((status) => !(status === '429' && !charged))
      // Operations on our own reports ask no upstream.
      .filter((status) => !(/502|504/.test(status) && !asksUpstream(names[0] ?? '')))
      .map((status) => `${id} ${status}`)
      .filter((answer) => !conformance.seen.has(answer)),
  );
  expect(missing).toEqual([]);
});
