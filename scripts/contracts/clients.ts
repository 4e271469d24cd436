/** A client that a generator makes from the OpenAPI document. */
export interface GeneratedClient {
  name: string;
  /** Pinned packages that npx fetches; the first has the command. */
  packages: readonly string[];
  command: string;
  args: readonly string[];
  /** A program in TypeScript that makes three calls and prints what `EXPECTED` has. */
  program: string;
}

/** Packages that generated clients import. */
export const RUNTIMES = ['openapi-fetch@0.17.0', '@oazapfts/runtime@1.2.0'];

/** Generators that need the programming interface of TypeScript, which ended with version 6. */
const TYPESCRIPT = 'typescript@5.9.3';

export const EXPECTED = { asins: ['B0C3CDEF01', 'B0C3CDEF02'], posted: 1, code: 'JOB_NOT_FOUND' };

const START = `
declare const process: { env: Record<string, string> };
const { SOUK_URL: baseUrl = '', SOUK_KEY: key = '' } = process.env;
const headers = { 'X-API-Key': key };
const asins = ${JSON.stringify(EXPECTED.asins)};
const show = (products: readonly { asin?: string }[], posted: number, code: string | undefined) =>
  console.log(JSON.stringify({ asins: products.map(({ asin }) => asin), posted, code }));
`;

/** Clients of orval send requests to paths; an application gives them its address with its own fetch. */
const ORVAL = `${START}
import { getJob, getProducts, postProducts } from './souk.ts';

const plainFetch = globalThis.fetch;
globalThis.fetch = (path, init) => plainFetch(new URL(String(path), baseUrl), { ...init, headers: { ...init?.headers, ...headers } });
const found = await getProducts({ domain: 1, asins, detailLevel: 'summary' });
if (found.status !== 200) throw new Error(String(found.status));
const posted = await postProducts({ domain: 1, asins: asins.slice(1) });
if (posted.status !== 200) throw new Error(String(posted.status));
const refused = await getJob('x');
show(found.data.data.products, posted.data.data.count, refused.status === 404 ? refused.data.code : undefined);
`;

const ORVAL_ARGS = ['--input', 'openapi.json', '--output', 'souk.ts', '--client', 'fetch'];

export const CLIENTS: readonly GeneratedClient[] = [
  {
    name: 'openapi-typescript',
    packages: ['openapi-typescript@7.13.0', TYPESCRIPT],
    command: 'openapi-typescript',
    // Without this option it treats every parameter with a default as required.
    args: ['openapi.json', '--default-non-nullable', 'false', '--output', 'souk.ts'],
    program: `${START}
import createClient from 'openapi-fetch';
import type { paths } from './souk.ts';

const souk = createClient<paths>({ baseUrl, headers });
const found = await souk.GET('/api/market/product', { params: { query: { domain: 1, asins, detailLevel: 'summary' } } });
const posted = await souk.POST('/api/market/product', { body: { domain: 1, asins: asins.slice(1) } });
const refused = await souk.GET('/api/jobs/{id}', { params: { path: { id: 'x' } } });
if (!found.data || !posted.data) throw new Error('no products');
show(found.data.data.products, posted.data.data.count, refused.error?.code);
`,
  },
  {
    name: 'hey-api',
    packages: ['@hey-api/openapi-ts@0.99.0', TYPESCRIPT],
    command: 'openapi-ts',
    args: ['--input', 'openapi.json', '--output', 'souk', '--client', '@hey-api/client-fetch'],
    program: `${START}
import { client } from './souk/client.gen';
import { getJob, getProducts, postProducts } from './souk';

client.setConfig({ baseUrl, headers });
const found = await getProducts({ query: { domain: 1, asins, detailLevel: 'summary' } });
const posted = await postProducts({ body: { domain: 1, asins: asins.slice(1) } });
const refused = await getJob({ path: { id: 'x' } });
if (!found.data || !posted.data) throw new Error('no products');
show(found.data.data.products, posted.data.data.count, refused.error?.code);
`,
  },
  {
    name: 'orval 7',
    packages: ['orval@7.21.0', TYPESCRIPT],
    command: 'orval',
    args: ORVAL_ARGS,
    program: ORVAL,
  },
  {
    name: 'orval 8',
    packages: ['orval@8.38.0', TYPESCRIPT],
    command: 'orval',
    args: ORVAL_ARGS,
    program: ORVAL,
  },
  {
    name: 'swagger-typescript-api',
    packages: ['swagger-typescript-api@13.13.0'],
    command: 'swagger-typescript-api',
    args: ['generate', '--path', 'openapi.json', '--output', '.', '--name', 'souk.ts'],
    program: `${START}
import { Api } from './souk.ts';

const souk = new Api({ baseUrl, baseApiParams: { headers } });
const found = await souk.api.getProducts({ domain: 1, asins, detailLevel: 'summary' });
const posted = await souk.api.postProducts({ domain: 1, asins: asins.slice(1) });
const refused = await souk.api.getJob('x').catch((response) => response);
show(found.data.data.products, posted.data.data.count, refused.error?.code);
`,
  },
  {
    name: 'oazapfts',
    packages: ['oazapfts@7.5.0', TYPESCRIPT],
    command: 'oazapfts',
    args: ['openapi.json', 'souk.ts'],
    program: `${START}
import { ok } from '@oazapfts/runtime';
import { defaults, getJob, getProducts, postProducts } from './souk.ts';

Object.assign(defaults, { baseUrl, headers });
const answer = await getProducts(1, { asins, detailLevel: 'summary' });
// A 200 has one type.
const one: string | undefined = answer.status === 200 ? answer.data.data.products[0]?.asin : undefined;
if (one !== asins[0]) throw new Error(one);
const found = await ok(getProducts(1, { asins, detailLevel: 'summary' }));
const posted = await ok(postProducts({ domain: 1, asins: asins.slice(1) }));
const refused = await getJob('x');
show(found.data.products, posted.data.count, refused.status === 404 ? refused.data.code : undefined);
`,
  },
];
