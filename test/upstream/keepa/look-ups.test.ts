import { expect, test } from 'vitest';
import { type ProductInput, upstreamOptions } from '../../../src/operations/market/product.ts';
import { SoukError } from '../../../src/platform/errors.ts';
import { createProductLookUps } from '../../../src/upstream/keepa/look-ups.ts';
import type { CallContext, KeepaCall } from '../../../src/upstream/keepa/transport.ts';
import { RequestRejected } from '../../../src/upstream/request-rejected.ts';
import { TestClock } from '../../support/clock.ts';

const WINDOW_MS = 3;

const INPUT: ProductInput = {
  ...{ domain: 1, asins: [], history: true, offers: 0, rating: false, buybox: false, stock: false },
  detailLevel: 'lite',
};

interface Request {
  asins: string[];
  context: CallContext;
  /** Answers with all products. */
  answer(tokens?: number): void;
  fail(error: Error): void;
}

/** Look-ups with a client that the test answers. */
function setUp(windowMs = WINDOW_MS) {
  const clock = new TestClock();
  const requests: Request[] = [];
  const keepa = {
    json: ({ params }: KeepaCall, context: CallContext) =>
      new Promise<Record<string, unknown>>((resolve, reject) => {
        const asins = String(params.asin).split(',');
        requests.push({
          asins,
          context,
          answer(tokens = asins.length) {
            context.onSpent?.(tokens);
            resolve({ products: asins.map((asin) => ({ asin })) });
          },
          fail: reject,
        });
        context.signal.addEventListener('abort', () => reject(new SoukError('UPSTREAM_TIMEOUT')));
      }),
    picture: () => Promise.reject(new Error('no pictures')),
  };
  const lookUps = createProductLookUps(keepa, clock, windowMs);
  /** Begins the look-up of a caller. */
  function lookUp(asins: string[], input: Partial<ProductInput> = {}, background = false) {
    const [deadline, cancellation] = [new AbortController(), new AbortController()];
    const spent: number[] = [];
    const options = { ...upstreamOptions({ ...INPUT, ...input }), update: input.update };
    const found = lookUps.fetch(asins, options, {
      ...{
        signal: deadline.signal,
        cancelled: cancellation.signal,
        deadlineAt: clock.now() + 60_000,
        background,
      },
      onSpent: (tokens) => spent.push(tokens),
    });
    const outcome = found.then(
      (products) => [...products.keys()],
      (error: SoukError) => error.kind,
    );
    return {
      outcome,
      spent,
      expire: () => deadline.abort(),
      cancel: () => cancellation.abort(new SoukError('CANCELLED')),
    };
  }
  /** Begins a look-up that is sent at once and opens the window. */
  function first(): void {
    void lookUp(['FIRST00000']);
    requests.pop();
  }
  return { clock, requests, lookUp, first };
}

const sent = (requests: readonly Request[]) => requests.map(({ asins }) => asins);

test('a look-up is sent at once; those that follow within the window share a request, and each gets its products', async () => {
  const { clock, requests, lookUp } = setUp();
  const one = lookUp(['A']);
  expect(sent(requests)).toEqual([['A']]);
  const [two, three, four] = [lookUp(['B', 'C']), lookUp(['D']), lookUp(['C'])];
  clock.advance(WINDOW_MS - 1);
  expect(requests).toHaveLength(1);
  clock.advance(1);
  expect(sent(requests)).toEqual([['A'], ['B', 'C', 'D']]);
  for (const request of requests) request.answer();
  expect(await Promise.all([one, two, three, four].map(({ outcome }) => outcome))).toEqual([
    ...[['A'], ['B', 'C'], ['D'], ['C']],
  ]);
});

test('after a window without look-ups, the next one is sent at once', () => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  clock.advance(WINDOW_MS);
  lookUp(['A']);
  expect(sent(requests)).toEqual([['A']]);
});

test('a shared request has at most a hundred ASINs, and is sent when it is full', () => {
  const { clock, requests, lookUp, first } = setUp();
  const asins = (letter: string, count: number) => Array.from({ length: count }, (_, i) => `${letter}${i}`);
  first();
  lookUp(asins('A', 60));
  lookUp(asins('B', 40));
  expect(requests.map((request) => request.asins.length)).toEqual([100]);
  lookUp(asins('C', 60));
  lookUp(asins('D', 41));
  expect(requests.map((request) => request.asins.length)).toEqual([100, 60]);
  clock.advance(WINDOW_MS);
  expect(requests.map((request) => request.asins.length)).toEqual([100, 60, 41]);
});

test.each([
  ['with other options', { stats: 30 }, false],
  ['of another site', { domain: 2 }, false],
  ['with offers', { offers: 20 }, false],
  ['with stock', { stock: true }, false],
  ['that is forced', { update: 0 }, false],
  ['of a batch', {}, true],
] as const)('a look-up %s does not share the request of an ordinary one', (_what, input, background) => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  lookUp(['A']);
  lookUp(['B'], input, background);
  expect(sent(requests)).toEqual([['B']]);
  lookUp(['C']);
  clock.advance(WINDOW_MS);
  expect(sent(requests)).toEqual([['B'], ['A', 'C']]);
});

test('look-ups that accept data of different ages share a request', () => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  lookUp(['A'], { update: 5 });
  lookUp(['B']);
  clock.advance(WINDOW_MS);
  expect(sent(requests)).toEqual([['A', 'B']]);
});

test('the tokens of a shared request are divided by products and counted once', async () => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  const members = [lookUp(['A', 'B', 'C']), lookUp(['D']), lookUp(['E'])];
  clock.advance(WINDOW_MS);
  requests[0]?.answer(7);
  await Promise.all(members.map(({ outcome }) => outcome));
  expect(members.map(({ spent }) => spent)).toEqual([[4], [2], [1]]);
});

test('a deadline ends one look-up, and the request continues for the others until none is left', async () => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  const [one, two] = [lookUp(['A']), lookUp(['B'])];
  clock.advance(WINDOW_MS);
  one.expire();
  expect(await one.outcome).toBe('UPSTREAM_TIMEOUT');
  expect(requests[0]?.context.signal.aborted).toBe(false);
  two.expire();
  expect(await two.outcome).toBe('UPSTREAM_TIMEOUT');
  expect(requests[0]?.context.signal.aborted).toBe(true);
});

test('cancelling ends a look-up before its request is sent, and not afterwards', async () => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  const [early, waiting, late, other] = [lookUp(['A']), lookUp(['B']), lookUp(['C']), lookUp(['D'])];
  early.cancel();
  expect(await early.outcome).toBe('CANCELLED');
  clock.advance(WINDOW_MS);
  expect(sent(requests)).toEqual([['B', 'C', 'D']]);
  // The request still waits for tokens.
  waiting.cancel();
  expect(await waiting.outcome).toBe('CANCELLED');
  requests[0]?.context.onSending?.();
  late.cancel();
  requests[0]?.answer();
  expect(await Promise.all([late.outcome, other.outcome])).toEqual([['C'], ['D']]);
});

test('look-ups whose shared request is rejected are sent one by one, and only the rejected one fails', async () => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  const [good, bad] = [lookUp(['A']), lookUp(['BAD'])];
  clock.advance(WINDOW_MS);
  requests[0]?.fail(new RequestRejected('UPSTREAM_ERROR'));
  await expect.poll(() => requests.length).toBe(3);
  expect(sent(requests.slice(1))).toEqual([['A'], ['BAD']]);
  requests[1]?.answer();
  requests[2]?.fail(new RequestRejected('UPSTREAM_ERROR'));
  expect([await good.outcome, await bad.outcome]).toEqual([['A'], 'UPSTREAM_ERROR']);
});

test('an error of the provider fails all look-ups of its request', async () => {
  const { clock, requests, lookUp, first } = setUp();
  first();
  const members = [lookUp(['A']), lookUp(['B'])];
  clock.advance(WINDOW_MS);
  requests[0]?.fail(new SoukError('BUSY'));
  expect(await Promise.all(members.map(({ outcome }) => outcome))).toEqual(['BUSY', 'BUSY']);
});

test('without a window, each look-up has a request of its own', () => {
  const { requests, lookUp } = setUp(0);
  lookUp(['A']);
  lookUp(['B']);
  expect(sent(requests)).toEqual([['A'], ['B']]);
});
