import fc from 'fast-check';
import { beginSession, SESSION_COOKIE } from '../../../src/accounts/sessions.ts';
import type { OpenApiDocument } from '../../../src/api/openapi/document.ts';
import { ownerOf } from '../customer.ts';
import { loadKeywords, sampleOf } from '../operation-samples.ts';
import { TARGET_ADMIN_TOKEN, type Target, type TargetAccount } from '../target.ts';
import { apiRequests } from './api-requests.ts';
import { startBaseline } from './baseline.ts';
import { createJudge, type FuzzReport, fault, type Shot } from './judge.ts';
import { type FuzzedTool, mcpRequests } from './mcp-requests.ts';
import { createNamedCalls } from './named-calls.ts';
import { crawl, formToken, pageRequests } from './page-requests.ts';
import { createProviderRefusals } from './provider-refusals.ts';
import { rawRequests, sendRawFuzz } from './raw-requests.ts';
import type { FuzzRequest } from './request.ts';
import { createSender, type FuzzAnswer } from './send.ts';
import { startStarvationWatch } from './starvation.ts';

export interface FuzzOptions {
  /** Each seed determines a sequence of requests. */
  seeds: readonly number[];
  /** Requests of each seed. */
  count: number;
  /** How many pages are looked for; 150 are all. */
  pages: number;
  /** Requests under way at the same time. */
  clients: number;
  /** An answer may take this much longer than the slowest request of a baseline at the same moment. */
  slowMs: number;
  /** An answer of a gateway may take that plus this many times the baseline: 1, or more on a busy machine. */
  timesBaseline: number;
  say(line: string): void;
}

/** Requests are drawn in groups: each group has a seed of its own. */
const GROUP = 50;

type Send = (request: FuzzRequest) => Promise<FuzzAnswer>;

/** Sends mutated requests to a service, and checks its answers, charges and processes. */
export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzReport> {
  const { seeds, count, clients, slowMs, timesBaseline, say } = options;
  const sender = createSender();
  const callers = await openCallers(target, `of-${seeds[0]}`);
  const calls = createNamedCalls();
  const send = async (request: FuzzRequest, index: number) => {
    const answer = await sender.send(target.gateway, request, callers.headersOf(request, index));
    calls.note(request, answer);
    return answer;
  };
  const shots = await shotsAt(target, (request) => send(request, 0), callers, options);
  const baseline = startBaseline({
    gateway: (request) => sender.send(target.calmGateway, request, { 'x-api-key': callers.calm.key }),
    worker: async (request) => {
      const answer = await sender.send(target.calmGateway, request, callers.headersOf(request, 0));
      calls.note(request, answer);
      return answer;
    },
  });
  const provider = createProviderRefusals(target);
  const starvation = startStarvationWatch(target.gatewayPid);
  const report: FuzzReport = { answers: {}, slowestMs: 0, faults: [] };
  const judge = createJudge(report, { baseline, starvation, provider, slowMs, timesBaseline });
  const total = seeds.length * count;
  const drawGroup = (seed: number, index: number) => fc.sample(shots, { seed: seed + index, numRuns: GROUP });
  let next = 0;
  let group: Shot[] = [];
  const draw = async (): Promise<{ index: number; shot: Shot } | null> => {
    if (next >= total || report.faults.length >= 100 || target.deaths.length > 0) return null;
    const index = next;
    next += 1;
    if (index % GROUP === 0) group = drawGroup(seeds[Math.floor(index / count)] ?? 0, index % count);
    if (index % 5_000 === 0 && index > 0) say(`${index} requests, ${report.faults.length} faults`);
    if (index % 500 === 0) await callers.renew();
    const shot = group[index % GROUP];
    return shot ? { index, shot } : null;
  };
  const run = async (): Promise<void> => {
    for (let drawn = await draw(); drawn; drawn = await draw()) {
      const { index, shot } = drawn;
      if (shot.kind === 'raw') {
        judge.raw(index, shot.raw, await sendRawFuzz(target.gateway, shot.raw));
        continue;
      }
      judge.answer(index, shot, await send(shot.request, index));
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, run));
    // The baseline ends first, because its calls are checked below as well.
    await baseline.stop();
    report.faults.push(...(await provider.unexplained()));
    for (const row of await calls.unnamed(target.database, callers.accountIds))
      report.faults.push(
        fault('charges no units for a refusal', total, JSON.stringify(row).slice(0, 1_000), ''),
      );
    for (const death of target.deaths) report.faults.push(fault('no process ends', next, '', death));
    return report;
  } finally {
    await baseline.stop();
    starvation.stop();
    sender.close();
  }
}

interface Callers {
  calm: TargetAccount;
  /** Accounts whose requests are mutated. */
  accountIds: readonly number[];
  /** Starts a new session, because a request may have ended the last one. */
  renew(): Promise<void>;
  headersOf(request: FuzzRequest, index: number): Record<string, string>;
  /** The cookie that belongs to the token of the forms. */
  formCookie: string;
}

/** @param name is part of the names of the accounts. */
async function openCallers(target: Target, name: string): Promise<Callers> {
  const { database } = target;
  await loadKeywords(database);
  const [customer, member, calm] = [
    await target.account(`customer-${name}`),
    await target.account(`member-${name}`),
    await target.account(`calm-${name}`),
  ];
  let session = '';
  const callers: Callers = {
    calm,
    accountIds: [customer.accountId, member.accountId],
    formCookie: '',
    async renew() {
      session = await beginSession(
        database,
        { personId: await ownerOf(database, member.accountId) },
        Date.now(),
      );
    },
    headersOf({ as, headers }, index) {
      // Each request comes from another address, so that limits by address do not end the run.
      const from = { 'x-forwarded-for': `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}` };
      if (as === 'customer') return { 'x-api-key': customer.key, ...from, ...headers };
      const cookie =
        as === 'session' ? `${SESSION_COOKIE}=${session}; ${callers.formCookie}` : callers.formCookie;
      const token = as === 'operator' ? { authorization: `Bearer ${TARGET_ADMIN_TOKEN}` } : {};
      return { cookie, ...token, ...from, ...headers };
    },
  };
  await callers.renew();
  return callers;
}

/** Draws requests to all that the service offers: its document, its pages, its tools, and its port. */
async function shotsAt(
  target: Target,
  send: Send,
  callers: Callers,
  options: FuzzOptions,
): Promise<fc.Arbitrary<Shot>> {
  const get = (path: string, as: FuzzRequest['as']) => send({ method: 'GET', path, headers: {}, as });
  const signIn = await get('/sign-in', 'visitor');
  callers.formCookie = [signIn.headers['set-cookie'] ?? []]
    .flat()
    .map((one) => one.split(';')[0])
    .join('; ');
  const document = JSON.parse((await wholeText(target, '/openapi.json')) ?? '{}') as OpenApiDocument;
  const visit = async (path: string, as: FuzzRequest['as']) => {
    const { status, text, headers } = await get(path, as);
    return { status, text, location: String(headers.location ?? '') };
  };
  const pages = await crawl(visit, options.pages);
  const tools = await listTools(send);
  options.say(`${pages.length} pages and forms, ${tools.length} tools`);
  const api = apiRequests(document, await existingIds(send));
  const tag =
    (kind: 'api' | 'page' | 'mcp') =>
    (request: FuzzRequest): Shot => ({ kind, request });
  return fc.oneof(
    { weight: 60, arbitrary: api.map(tag('api')) },
    { weight: 18, arbitrary: pageRequests(pages, formToken(signIn.text)).map(tag('page')) },
    { weight: 17, arbitrary: mcpRequests(tools).map(tag('mcp')) },
    { weight: 5, arbitrary: rawRequests.map((raw): Shot => ({ kind: 'raw', raw })) },
  );
}

async function wholeText({ gateway }: Target, path: string): Promise<string> {
  return (await fetch(`${gateway}${path}`)).text();
}

async function listTools(send: Send): Promise<FuzzedTool[]> {
  const { text } = await send({
    method: 'POST',
    path: '/mcp?toolsets=all',
    as: 'customer',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  const json = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
  const { result } = JSON.parse(json) as { result?: { tools: FuzzedTool[] } };
  if (!result) throw new Error(`no tools: ${text.slice(0, 500)}`);
  return result.tools;
}

/** Creates a job, a batch and a schedule, and returns their ids for use in requests. */
async function existingIds(send: Send): Promise<string[]> {
  const post = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const { text } = await send({
      method: 'POST',
      path,
      headers,
      body: JSON.stringify(body),
      as: 'customer',
    });
    return text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
  };
  const params = { domain: 1, detailLevel: 'summary' };
  const batch = { operation: 'market.product', params, split: { asins: ['B0FUZZBAT1', 'B0FUZZBAT2'] } };
  const ids = [
    ...(await post('/api/market/category?async=1', sampleOf('market.category'))),
    ...(await post('/api/batches', batch)),
    ...(await post('/api/schedules', { name: 'fuzz', cron: '0 8 * * 1', timezone: 'UTC', batch })),
  ];
  return [...ids, '019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d'];
}
