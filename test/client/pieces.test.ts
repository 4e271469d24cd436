import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  ConnectionError,
  QuotaError,
  RateLimitError,
  ServiceError,
  SoukError,
  VERSION,
  verifyWebhook,
} from '../../clients/typescript/src/index.ts';
import { parseJson, parseWithMarks, stringifyJson } from '../../clients/typescript/src/json.ts';
import { backoff, type FailedAttempt, pauseBeforeRetry } from '../../clients/typescript/src/retry.ts';
import { isCurrent, OPERATIONS_FILE, SCHEMAS_FILE } from '../../scripts/client/files.ts';
import { clientMethods } from '../../scripts/client/methods.ts';
import { operationsFile } from '../../scripts/client/operations.ts';
import { LONGEST_POLL_SECONDS } from '../../src/api/job-view.ts';
import { REPLY_TIMEOUT_MS } from '../../src/api/uploads.ts';
import { BODY, SECRET, signedHeaders } from '../support/signed-webhook.ts';

describe('generated files', () => {
  test('are up to date with the OpenAPI document', () => {
    expect(readFileSync(OPERATIONS_FILE, 'utf8'), 'run npm run generate').toBe(operationsFile());
    expect(isCurrent(readFileSync(SCHEMAS_FILE, 'utf8')), 'run npm run generate').toBe(true);
  });

  test('are recognised as edited', () => {
    expect(isCurrent(readFileSync(SCHEMAS_FILE, 'utf8').replace('asin: string', 'asin: number'))).toBe(false);
  });

  test('a method has the name of its operation, without hyphens', () => {
    for (const { name, operation } of clientMethods())
      if (operation) expect(name.toLowerCase()).toBe(operation.replaceAll('-', ''));
  });

  test.each([
    ['jobs.get', LONGEST_POLL_SECONDS],
    ['batches.create', REPLY_TIMEOUT_MS / 1_000],
    ['schedules.run', REPLY_TIMEOUT_MS / 1_000],
    ['trackers.run', REPLY_TIMEOUT_MS / 1_000],
  ])('%s waits for longer than the service may take, which is %i s', (method, longestSeconds) => {
    const { timeoutSeconds } = clientMethods().find(({ name }) => name === method) ?? {};
    expect(timeoutSeconds).toBeGreaterThanOrEqual(longestSeconds + 15);
  });

  test('the version is that of the package', () => {
    const { version } = JSON.parse(readFileSync('clients/typescript/package.json', 'utf8')) as {
      version: string;
    };
    expect(VERSION).toBe(version);
  });
});

describe('JSON', () => {
  const LARGE = '9007199254740993';
  const TEXT = `{"a":${LARGE},"b":[-${LARGE},1],"c":"${LARGE}","d":0.${LARGE},"e":1e20,"f":"\\"${LARGE}","g":${2 ** 53 - 1}}`;
  const EXPECTED = {
    a: 9007199254740993n,
    b: [-9007199254740993n, 1],
    c: LARGE,
    d: Number(`0.${LARGE}`),
    e: 1e20,
    f: `"${LARGE}`,
    g: 2 ** 53 - 1,
  };

  test.each([
    ['by the source text, where the runtime has it', parseJson],
    ['by marks', parseWithMarks],
  ])('integers beyond 2^53 become bigints, and nothing else changes: %s', (_, parse) => {
    expect(parse(TEXT)).toEqual(EXPECTED);
  });

  test('a bigint is written as digits', () => {
    expect(stringifyJson({ id: 9007199254740993n })).toBe('{"id":"9007199254740993"}');
  });

  test('throws for text that is not JSON', () => {
    expect(() => parseWithMarks(`{"a":${LARGE}`)).toThrow(SyntaxError);
  });
});

describe('pauses before retries', () => {
  const SETTINGS = { maxRetries: 4, retryBudgetMs: 90_000 };
  const busy = (retryAfterMs: number | null, status = 503, Class: typeof SoukError = ServiceError) =>
    new Class('no', { code: 'BUSY', status, retryAfterMs });
  const lost = new ConnectionError('the connection broke');
  const pause = (failed: Partial<FailedAttempt>) =>
    pauseBeforeRetry(
      { error: busy(null), attempts: 1, repeats: 'charged', sinceLostMs: null, pausedMs: 0, ...failed },
      SETTINGS,
      1,
    );

  test.each<[string, Partial<FailedAttempt>, number | null]>([
    ['a 503 without Retry-After', {}, 500],
    ['its third failure', { attempts: 3 }, 2_000],
    ['a 503 with Retry-After', { error: busy(5_000) }, 6_000],
    ['a 429 with Retry-After', { error: busy(5_000, 429, RateLimitError) }, 6_000],
    ['a 429 of a limit that does not pass', { error: busy(null, 429, RateLimitError) }, null],
    ['a day without units', { error: busy(3_600_000, 429, QuotaError) }, null],
    ['pauses beyond the budget', { error: busy(60_000), pausedMs: 40_000 }, null],
    ['an invalid request', { error: new SoukError('no', { code: '4000', status: 400 }) }, null],
    ['a defect of the program', { error: new TypeError('no') }, null],
    ['the last attempt', { attempts: 5 }, null],
    ['a lost answer', { error: lost, sinceLostMs: 70_000 }, 500],
    [
      'a lost answer that the service may have charged five minutes ago',
      { error: lost, sinceLostMs: 239_600 },
      null,
    ],
    ['the same of a request that is free', { error: lost, sinceLostMs: 239_600, repeats: 'always' }, 500],
    ['a lost answer to a request that acts twice', { error: lost, sinceLostMs: 0, repeats: 'never' }, null],
    ['a 503 to a request that acts twice', { repeats: 'never' }, null],
    [
      'a refusal of a request that acts twice',
      { error: busy(0, 429, RateLimitError), repeats: 'never' },
      1_000,
    ],
    [
      'the error of a job',
      { error: new ServiceError('no', { code: 'UPSTREAM_ERROR', status: 502 }), repeats: 'always' },
      null,
    ],
  ])('%s', (_, failed, pauseMs) => {
    expect(pause(failed)).toBe(pauseMs);
  });

  test('grow, vary by half, and have a bound', () => {
    expect([1, 2, 9].map((attempts) => backoff(attempts, 0))).toEqual([250, 500, 4_000]);
    expect([1, 2, 9].map((attempts) => backoff(attempts, 1))).toEqual([500, 1_000, 8_000]);
  });
});

describe('webhooks', () => {
  test('returns the event of a signed body, in each form of body and headers', async () => {
    const event = JSON.parse(BODY) as unknown;
    expect(await verifyWebhook({ body: BODY, headers: signedHeaders() }, SECRET)).toEqual(event);
    const received = { body: new TextEncoder().encode(BODY), headers: new Headers(signedHeaders()) };
    expect(await verifyWebhook(received, SECRET)).toEqual(event);
  });

  test.each<[string, Parameters<typeof verifyWebhook>]>([
    ['another body', [{ body: `${BODY} `, headers: signedHeaders() }, SECRET]],
    [
      'another secret',
      [{ body: BODY, headers: signedHeaders() }, `whsec_${Buffer.from('another').toString('base64')}`],
    ],
    ['a secret that is not base64', [{ body: BODY, headers: signedHeaders() }, 'whsec_*']],
    ['an old event', [{ body: BODY, headers: signedHeaders(new Date(Date.now() - 301_000)) }, SECRET]],
    [
      'an event without signature',
      [{ body: BODY, headers: { 'webhook-id': '1', 'webhook-timestamp': '1' } }, SECRET],
    ],
  ])('refuses %s', async (_, received) => {
    await expect(verifyWebhook(...received)).rejects.toMatchObject({
      name: 'WebhookError',
      code: 'WEBHOOK_INVALID',
    });
  });
});
