import { Readable } from 'node:stream';
import type { Progress } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { callTool, PATIENCE_SECONDS, type ToolCallDeps } from '../../../src/api/mcp/call-tool.ts';
import { TOOLS } from '../../../src/api/mcp/tools.ts';
import type { GatewayAnswer } from '../../../src/api/self-client.ts';
import { newAsin } from '../../support/answers.ts';
import { type Agent, connectAgent, ERAS, type ToolAnswer } from '../../support/mcp-client.ts';
import type { Souk } from '../../support/souk.ts';
import { testWithHeldProducts } from '../../support/souk-test.ts';
import { advanceUntil } from '../../support/time.ts';
import { unitsUsed } from '../../support/units.ts';

const test = testWithHeldProducts.extend('agent', async ({ client }) => {
  const agent = await connectAgent(client, { toolsets: 'all' });
  await agent.client.listTools();
  return agent;
});

/** A call that takes longer than a tool waits. */
async function callTooLong(souk: Souk, agent: Agent, asins = [newAsin()]): Promise<ToolAnswer> {
  const calling = agent.call('market_get_product', { domain: 1, asins });
  await souk.upstream.received(1, 'product');
  souk.clock.advance(PATIENCE_SECONDS * 1000);
  return calling;
}

test('returns a job for a slow call, and its result for free', async ({ souk, client, agent, release }) => {
  const { data, isError } = await callTooLong(souk, agent);
  expect(isError).toBe(false);
  expect(data).toMatchObject({
    jobId: expect.any(String),
    operation: 'market.product',
    hint: expect.stringMatching(/jobs_get_result.* up to 40\./),
    _call: { unitsConsumed: 0, jobId: data.jobId },
  });
  const state = await agent.call('jobs_get', { id: data.jobId });
  expect(state.data).toMatchObject({ jobId: data.jobId, state: 'running' });
  const tooEarly = await agent.call('jobs_get_result', { id: data.jobId });
  expect(tooEarly.data).toMatchObject({ state: 'running', hint: expect.stringContaining('jobs_get_result') });
  const waiting = agent.call('jobs_get_result', { id: data.jobId, wait: 30 });
  release();
  expect((await waiting).data).toMatchObject({ count: 1, _call: { unitsConsumed: 0 } });
  expect(await unitsUsed(client)).toBe(1);
  const { data: list } = await agent.call('jobs_list', { state: 'done' });
  expect(list.jobs).toMatchObject([{ jobId: data.jobId }]);
});

test('waits for a result no longer than MCP clients wait', async ({ souk, client, agent }) => {
  const { data: job } = (await client.post('/api/market/product?async=1', { domain: 1, asins: [newAsin()] }))
    .json;
  await souk.upstream.received(1, 'product');
  const awaited = souk.events.next('call.awaited');
  const calling = agent.call('jobs_get_result', { id: job.jobId, wait: 60 });
  await awaited;
  souk.clock.advance(PATIENCE_SECONDS * 1000);
  expect((await calling).data).toMatchObject({ state: 'running' });
  const wrong = await agent.call('jobs_get_result', { id: job.jobId, wait: 61 });
  expect(wrong).toMatchObject({ isError: true, data: { error: { code: 'VALIDATION_FAILED' } } });
});

test('cancels what a job has not sent; a dry run cancels nothing', async ({ souk, agent }) => {
  const { data } = await callTooLong(souk, agent);
  const dry = await agent.call('jobs_cancel', { id: data.jobId, dryRun: true });
  expect(dry.data).toMatchObject({ dryRun: true, units: 0 });
  expect((await agent.call('jobs_get', { id: data.jobId })).data.state).toBe('running');
  const cancelled = await agent.call('jobs_cancel', { id: data.jobId });
  // Its request was sent, so it runs to its end.
  expect(cancelled.data.state).toBe('running');
});

test('returns immediately from a cancellation for a caller who asks for progress', async ({
  souk,
  agent,
}) => {
  const { data } = await callTooLong(souk, agent);
  const cancelled = await agent.call('jobs_cancel', { id: data.jobId }, { onprogress: () => {} });
  expect(cancelled.data.state).toBe('running');
});

test('returns JOB_NOT_FOUND for a job of another account', async ({ souk, agent }) => {
  const { data } = await callTooLong(souk, agent);
  const other = await connectAgent(await souk.client());
  for (const tool of ['jobs_get', 'jobs_get_result', 'jobs_cancel']) {
    const answer = await other.call(tool, { id: data.jobId });
    expect(answer).toMatchObject({ isError: true, data: { error: { code: 'JOB_NOT_FOUND', status: 404 } } });
  }
});

describe.each(ERAS)('progress, in the %s protocol', (era) => {
  test('is sent if the caller asks for it, before the usual answer', async ({ souk, client, release }) => {
    const agent = await connectAgent(client, { era });
    const updates: Progress[] = [];
    const args = { domain: 1, asins: [newAsin()] };
    const calling = agent.call('market_get_product', args, {
      onprogress: (progress) => updates.push(progress),
    });
    await advanceUntil(souk.clock, () => updates.length === 1, 100);
    release();
    const { data } = await calling;
    expect(data).toMatchObject({ count: 1, _call: { unitsConsumed: 1, cache: 'MISS' } });
    expect(updates[0]).toMatchObject({
      progress: 0,
      total: 100,
      message: expect.stringMatching(/queued|running/),
    });
    const again = await agent.call('market_get_product', args, { onprogress: () => {} });
    expect(again.data._call).toMatchObject({ unitsConsumed: 0, deduplicated: true });
    expect(await unitsUsed(client)).toBe(1);
  });

  test('of a call that takes too long ends when the job is returned', async ({ souk, client }) => {
    const agent = await connectAgent(client, { era });
    const updates: unknown[] = [];
    const args = { domain: 1, asins: [newAsin()] };
    const calling = agent.call('market_get_product', args, {
      onprogress: (progress) => updates.push(progress),
    });
    let answer: ToolAnswer | undefined;
    void calling.then((arrived) => {
      answer = arrived;
    });
    await advanceUntil(souk.clock, () => updates.length === 1, 100);
    // The pool's own time-out is later than this.
    await advanceUntil(souk.clock, () => answer !== undefined, 1_000);
    expect(answer?.data).toMatchObject({
      state: 'running',
      hint: expect.stringContaining('jobs_get_result'),
    });
  });
});

function answerWith(
  status: number,
  data: object | null,
  headers: Record<string, string> = {},
): GatewayAnswer {
  const body = Readable.from([Buffer.from(JSON.stringify({ code: 'ANY', msg: 'any', data }))]);
  return { status, header: (name) => headers[name], size: null, body };
}

/** Calls a tool with progress, on a gateway that has these answers. */
function callWith(
  { clock, database }: Souk,
  answers: GatewayAnswer[],
  name: string,
  args: Record<string, unknown>,
): ReturnType<typeof callTool> {
  const tool = TOOLS.get(name);
  if (!tool) throw new Error(`there is no tool ${name}`);
  const deps = {
    clock,
    database,
    completions: { closed: false },
    budgetTokens: 6_000,
    send: async () => answers.shift(),
  };
  return callTool(deps as unknown as ToolCallDeps, { key: 'any', accountId: 1 }, tool, args, {
    onProgress: async () => {},
    signal: new AbortController().signal,
  });
}

describe('a tracker with many values', () => {
  const id = '01970000-0000-7000-8000-000000000000';
  const current = Array.from({ length: 1_000 }, (_, i) => ({
    asin: `B${i}`,
    title: 'A long title of a product',
    value: i,
    distance: -i,
    isMet: false,
  }));
  const call = async (souk: Souk, tool: string, args: Record<string, unknown>) => {
    const tracker = answerWith(200, { units: 300, current }, { 'content-type': 'application/json' });
    return (await callWith(souk, [tracker], tool, { id, ...args })).structuredContent as Record<
      string,
      unknown
    >;
  };

  test('has a price of its run', async ({ souk }) => {
    expect(await call(souk, 'trackers_run', { dryRun: true })).toMatchObject({ dryRun: true, units: 300 });
  });

  test('is read in parts', async ({ souk }) => {
    const step = (path: string) => ({ tool: 'trackers_get', arguments: { id, path }, units: 0 });
    expect(await call(souk, 'trackers_get', {})).toMatchObject({ nextStep: step('') });
    const withItems = await call(souk, 'schedules_get', { items: true });
    const { arguments: next } = withItems.nextStep as { arguments: object };
    expect(next).toEqual({ id, items: true, path: '' });
    const whole = await call(souk, 'trackers_get', { path: '' });
    expect(whole).toMatchObject({ outline: { units: 300, current: expect.any(Array) } });
    const part = await call(souk, 'trackers_get', {
      path: 'current',
      offset: 900,
      fields: ['asin', 'value'],
    });
    expect(part).toMatchObject({ total: 1_000, offset: 900, next: null, items: { rows: { length: 100 } } });
  });
});

test.for([
  ['job', 'market_get_product', { domain: 1, asins: ['B000000001'] }, 'jobId'],
  ['batch', 'batches_create', { operation: 'market.product', items: [] }, 'batchId'],
] as const)(
  'a caller that follows a %s receives it even if the account reaches a limit on requests',
  async ([, name, args, id], { souk }) => {
    const view = { [id]: 'a', counts: { done: 0, failed: 0, cancelled: 0, items: 1 }, position: null };
    const answers = [
      answerWith(202, { [id]: 'a' }, { 'x-job-id': 'a' }),
      answerWith(200, { ...view, state: 'running', finishedAt: null }),
      answerWith(429, null),
      answerWith(200, { ...view, state: 'done', finishedAt: '2026-05-01T00:00:00.000Z' }),
      answerWith(429, null),
    ];
    const calling = callWith(souk, answers, name, args);
    let structured: unknown;
    void calling.then(({ structuredContent }) => {
      structured = structuredContent;
    });
    await advanceUntil(souk.clock, () => structured !== undefined, 100);
    await calling;
    expect(structured).toMatchObject({ [id]: 'a', state: 'done' });
    expect(answers).toEqual([]);
  },
);

describe('batches', () => {
  const batch = (asins: string[]) => ({
    operation: 'market.product',
    params: { domain: 1, detailLevel: 'summary' },
    split: { asins },
  });

  test('can be created, followed, read and cancelled by tools', async ({ souk, agent, release }) => {
    release();
    const asins = [newAsin(), newAsin(), newAsin()];
    const dry = await agent.call('batches_create', { ...batch(asins), dryRun: true });
    expect(dry.data).toMatchObject({ dryRun: true, items: 3, units: 3 });
    const tooDear = await agent.call('batches_create', { ...batch(asins), maxUnits: 2 });
    expect(tooDear).toMatchObject({ isError: true, data: { error: { code: 'QUOTA_MAX_UNITS' } } });
    const updates: Progress[] = [];
    let made: ToolAnswer | undefined;
    const making = agent
      .call('batches_create', batch(asins), { onprogress: (progress) => updates.push(progress) })
      .then((answer) => {
        made = answer;
      });
    await advanceUntil(souk.clock, () => made !== undefined, 1_000);
    await making;
    expect(made?.data).toMatchObject({ state: 'done', counts: { items: 3, done: 3 } });
    expect(updates.at(-1)).toMatchObject({ progress: 3, total: 3 });
    const id = made?.data.batchId as string;
    const { data: results } = await agent.call('batches_get_results', { id });
    expect(results).toMatchObject({ finished: true, results: [{ index: 0 }, { index: 1 }, { index: 2 }] });
    const { data: list } = await agent.call('batches_list');
    expect(list.batches).toMatchObject([{ batchId: id }]);
    const { contents } = await agent.client.readResource({ uri: `souk://batches/${id}/results` });
    expect(contents).toMatchObject([{ mimeType: 'application/x-ndjson', _meta: { next: null } }]);
    const cancelled = await agent.call('batches_cancel', { id });
    expect(cancelled.data).toMatchObject({ batchId: id, state: 'done' });
    const retry = await agent.call('batches_retry', { id, dryRun: true });
    expect(retry.data.error).toMatchObject({
      code: 'BATCH_STATE',
      message: expect.stringContaining('no failed items'),
    });
  });
});

describe('schedules', () => {
  const schedule = {
    name: 'Mondays',
    cron: '0 6 * * 1',
    batch: {
      operation: 'market.product',
      items: [
        { domain: 1, asins: ['B000000001'] },
        { domain: 1, asins: ['B000000002'] },
      ],
    },
  };

  test('can be created, changed, run and deleted by tools, within maxUnits', async ({ agent, release }) => {
    release();
    const dry = await agent.call('schedules_create', { ...schedule, dryRun: true });
    expect(dry.data).toMatchObject({ dryRun: true, units: 2 });
    const tooDear = await agent.call('schedules_create', { ...schedule, maxUnits: 1 });
    expect(tooDear).toMatchObject({ isError: true, data: { error: { code: 'QUOTA_MAX_UNITS' } } });
    expect((await agent.call('schedules_list')).data.schedules).toEqual([]);
    const { data: made } = await agent.call('schedules_create', { ...schedule, maxUnits: 2 });
    const id = made.scheduleId;
    const { data: paused } = await agent.call('schedules_update', { id, paused: true });
    expect(paused).toMatchObject({ scheduleId: id, paused: true });
    const priced = await agent.call('schedules_run', { id, dryRun: true });
    expect(priced.data).toMatchObject({ dryRun: true, units: 2 });
    const refused = await agent.call('schedules_run', { id, maxUnits: 1 });
    expect(refused).toMatchObject({
      isError: true,
      data: { error: { metadata: { needed: 2, maxUnits: 1 } } },
    });
    expect((await agent.call('schedules_list_runs', { id })).data.runs).toEqual([]);
    const { data: run } = await agent.call('schedules_run', { id, maxUnits: 2 });
    expect(run.batch).toMatchObject({ scheduleId: id });
    expect((await agent.call('schedules_get', { id })).data.name).toBe('Mondays');
    expect((await agent.call('schedules_delete', { id })).data).toMatchObject({ deleted: true });
    expect((await agent.call('schedules_get', { id })).data.error.code).toBe('SCHEDULE_NOT_FOUND');
  });
});
