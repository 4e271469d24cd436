import fc from 'fast-check';
import { beginSession } from '../../../src/accounts/sessions.ts';
import type { OpenApiDocument } from '../../../src/api/openapi/document.ts';
import { SESSION_COOKIES } from '../../../src/site/session.ts';
import { loadKeywords, sampleOf } from '../operation-samples.ts';
import { TARGET_ADMIN_TOKEN, type Target, type TargetAccount } from '../target.ts';
import { apiRequests } from './api-requests.ts';
import { type Baseline, startBaseline } from './baseline.ts';
import { type FuzzedTool, mcpRequests } from './mcp-requests.ts';
import { createNamedCalls, NAMES_ITS_CALLS } from './named-calls.ts';
import { crawl, formToken, pageRequests } from './page-requests.ts';
import { createProviderRefusals, type ProviderRefusals } from './provider-refusals.ts';
import { type RawFuzz, rawRequests, sendRawFuzz } from './raw-requests.ts';
import type { FuzzRequest } from './request.ts';
import { createSender, type FuzzAnswer } from './send.ts';

export interface FuzzOptions {
  /** Each seed determines a sequence of requests. */
  seeds: readonly number[];
  /** Requests of each seed. */
  count: number;
  /** Requests under way at the same time. */
  clients: number;
  /** An answer of a gateway may take a second plus this many times the baseline: 1, or more on a busy machine. */
  timesBaseline: number;
  say(line: string): void;
}

/** A promise that was broken, with the request that broke it. */
export interface FuzzFault {
  promise: string;
  /** Number of the request; the same seed sends it again. */
  index: number;
  request: string;
  answer: string;
}

export interface FuzzReport {
  /** How often each kind of request was answered with each status. */
  answers: Record<string, Record<string, number>>;
  slowestMs: number;
  faults: FuzzFault[];
}

/** Requests are drawn in groups: each group has a seed of its own. */
const GROUP = 50;

/** An answer may take this much longer than the slowest request of the baseline at the same moment. */
const SLOW_MS = 1_000;

/** The provider takes this many times as long for a search or a list as for a request of the baseline. */
const TIMES_BASELINE_OF_WORK = 5;

type Send = (request: FuzzRequest) => Promise<FuzzAnswer>;

type Shot = { kind: 'api' | 'page' | 'mcp'; request: FuzzRequest } | { kind: 'raw'; raw: RawFuzz };

/** Sends mutated requests to a service, and checks its answers, charges and processes. */
export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzReport> {
  const { seeds, count, clients, say } = options;
  const sender = createSender();
  const callers = await openCallers(target);
  const calls = createNamedCalls();
  const send = async (request: FuzzRequest, index: number) => {
    const answer = await sender.send(target.gateway, request, callers.headersOf(request, index));
    calls.note(request, answer);
    return answer;
  };
  const shots = await shotsAt(target, (request) => send(request, 0), callers, say);
  const baseline = startBaseline({
    gateway: (request) => sender.send(target.calmGateway, request, { 'x-api-key': callers.calm.key }),
    worker: async (request) => {
      const answer = await sender.send(target.calmGateway, request, callers.headersOf(request, 0));
      calls.note(request, answer);
      return answer;
    },
  });
  const provider = createProviderRefusals(target);
  const report: FuzzReport = { answers: {}, slowestMs: 0, faults: [] };
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
        judgeRaw(report, index, shot.raw, await sendRawFuzz(target.gateway, shot.raw));
        continue;
      }
      const answer = await send(shot.request, index);
      judge(report, { baseline, provider, timesBaseline: options.timesBaseline }, index, shot, answer);
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

async function openCallers(target: Target): Promise<Callers> {
  const { database } = target;
  await loadKeywords(database);
  const [customer, member, calm] = [
    await target.account('customer'),
    await target.account('member'),
    await target.account('calm'),
  ];
  let session = '';
  const callers: Callers = {
    calm,
    accountIds: [customer.accountId, member.accountId],
    formCookie: '',
    async renew() {
      session = await beginSession(database, { accountId: member.accountId }, Date.now());
    },
    headersOf({ as, headers }, index) {
      // Each request comes from another address, so that limits by address do not end the run.
      const from = { 'x-forwarded-for': `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}` };
      if (as === 'customer') return { 'x-api-key': customer.key, ...from, ...headers };
      const cookie =
        as === 'session'
          ? `${SESSION_COOKIES.customer}=${session}; ${callers.formCookie}`
          : callers.formCookie;
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
  say: FuzzOptions['say'],
): Promise<fc.Arbitrary<Shot>> {
  const get = (path: string, as: FuzzRequest['as']) => send({ method: 'GET', path, headers: {}, as });
  const signIn = await get('/sign-in', 'nobody');
  callers.formCookie = [signIn.headers['set-cookie'] ?? []]
    .flat()
    .map((one) => one.split(';')[0])
    .join('; ');
  const document = JSON.parse((await wholeText(target, '/openapi.json')) ?? '{}') as OpenApiDocument;
  const pages = await crawl(async (path, as) => {
    const { status, text, headers } = await get(path, as);
    return { status, text, location: String(headers.location ?? '') };
  });
  const tools = await listTools(send);
  say(`${pages.length} pages and forms, ${tools.length} tools`);
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
    ...{ method: 'POST', path: '/mcp?toolsets=all', as: 'customer' },
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

/** The refusal while a store is slow. Refusals by a limit have status 429. */
const BUSY = /"code":"BUSY"/;

/** The demo provider fails only if its settings say so, but it refuses some requests that the service passes on. */
const UPSTREAM_ERROR = /"code":"UPSTREAM_ERROR"/;

/** Forms with passwords. */
const HASHES = /^\/+(sign-|reset-password|account\/settings)/i;

/** JSON-RPC's code of an internal error. */
const INTERNAL = /"code":-32603/;

function judge(
  report: FuzzReport,
  {
    baseline,
    provider,
    timesBaseline,
  }: { baseline: Baseline; provider: ProviderRefusals; timesBaseline: number },
  index: number,
  shot: Exclude<Shot, { kind: 'raw' }>,
  answer: FuzzAnswer,
): void {
  const { status, text, startedAt, tookMs } = answer;
  count(report, shot.kind, status);
  report.slowestMs = Math.max(report.slowestMs, tookMs);
  const faultOf = (promise: string) =>
    fault(
      promise,
      index,
      written(shot.request),
      `${status} in ${Math.round(tookMs)} ms: ${text.slice(0, 300)}`,
    );
  const broken = (promise: string) => report.faults.push(faultOf(promise));
  const longestMs = (kind: 'gateway' | 'worker') => baseline.longestMs(kind, startedAt, startedAt + tookMs);
  // If a store is slow for the gateway of the baseline too, the machine is slow, and the service may refuse.
  const isRefused = status === 503 && BUSY.test(text) && longestMs('gateway') > SLOW_MS / 2;
  if (status === 502 && UPSTREAM_ERROR.test(text)) provider.note(text, faultOf('answers no 5xx'));
  else if (status >= 500 && !isRefused) broken('answers no 5xx');
  if (shot.kind === 'mcp' && INTERNAL.test(text)) broken('answers no internal error to an agent');
  // A call of a worker includes the time of the queue and the provider; hashing a password is slow.
  const isWork =
    answer.headers['x-job-id'] !== undefined ||
    shot.kind === 'mcp' ||
    status === 0 ||
    HASHES.test(shot.request.path) ||
    NAMES_ITS_CALLS.test(shot.request.path);
  const allowedMs = isWork
    ? TIMES_BASELINE_OF_WORK * longestMs('worker')
    : timesBaseline * longestMs('gateway');
  if (tookMs > SLOW_MS + allowedMs) broken('answers within a second');
}

function judgeRaw(report: FuzzReport, index: number, raw: RawFuzz, statuses: readonly number[]): void {
  const { kind, bytes, hidesRequest } = raw;
  count(report, 'raw', statuses[0] ?? 0);
  const broken = (promise: string) =>
    report.faults.push(
      fault(promise, index, `${kind}: ${bytes.toString('latin1').slice(0, 300)}`, statuses.join(' ')),
    );
  // 501 and 505 refuse a method, an encoding or a version, which HTTP servers may do.
  if (statuses.some((status) => status >= 500 && status !== 501 && status !== 505)) broken('answers no 5xx');
  if (hidesRequest && statuses.includes(200)) broken('serves no request that is hidden in a body');
}

function count(report: FuzzReport, kind: string, status: number): void {
  const answers = report.answers[kind] ?? {};
  report.answers[kind] = answers;
  const name = status === 0 ? 'none' : String(status);
  answers[name] = (answers[name] ?? 0) + 1;
}

function fault(promise: string, index: number, request: string, answer: string): FuzzFault {
  return { promise, index, request, answer };
}

function written({ method, path, headers, body, as }: FuzzRequest): string {
  const content = body === undefined ? '' : ` ${JSON.stringify(body.toString('latin1').slice(0, 600))}`;
  return `${method} ${path.slice(0, 600)} (${as}) ${JSON.stringify(headers)}${content}`;
}
