import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { toKeepaMinutes } from '../src/operations/products/history.ts';
import { type Clock, sleep } from '../src/platform/clock.ts';
import { MINUTE_MS } from '../src/platform/durations.ts';
import { bestsellers, category } from './endpoints/category.ts';
import { deal } from './endpoints/deal.ts';
import { graphimage } from './endpoints/graphimage.ts';
import { lightningdeal } from './endpoints/lightningdeal.ts';
import { product, search } from './endpoints/product.ts';
import { query } from './endpoints/query.ts';
import { seller, topseller } from './endpoints/seller.ts';
import { pictureRoutes } from './pictures/drawing.ts';
import {
  type Endpoint,
  type EndpointAnswer,
  invalidParameter,
  type Params,
  ProviderError,
} from './protocol.ts';
import type { DemoSettings } from './settings.ts';
import { trendsRoutes } from './trends/routes.ts';

/** The provider accepts every key of at least the minimum length except this one, which has not been paid for. */
const UNPAID_KEY = 'unpaid-key-unpaid-key';
const SHORTEST_KEY = 16;

const SHORTEST_COMPRESSED_BYTES = 1000;

const gzip = promisify(zlib.gzip);

/**
 * A product data provider with Keepa's protocol and generated data: every ASIN always means the same product, and all
 * lists are consistent with it. It has a token bucket; settings add latency and faults.
 */
export function buildDemoProvider(settings: DemoSettings, clock: Clock): FastifyInstance {
  const tokensOf = createBuckets(clock, settings.DEMO_TOKENS_PER_MINUTE);
  const { sendAnswer, sendError } = createReplies(settings, tokensOf, clock);
  const endpoints: Record<string, Endpoint> = {
    token: () => ({ payload: {}, tokens: 0 }),
    product,
    search,
    category,
    bestsellers,
    seller,
    topseller,
    deal,
    query,
    lightningdeal: lightningdeal(settings.DEMO_LIGHTNING_DEALS),
    graphimage: graphimage(),
  };
  const app = fastify({
    logger: false,
    bodyLimit: 1_000_000,
    // The last value of a repeated parameter counts.
    routerOptions: {
      ignoreTrailingSlash: true,
      querystringParser: (text) => Object.fromEntries(new URLSearchParams(text)),
    },
  });
  for (const [name, endpoint] of Object.entries(endpoints)) {
    app.route({
      method: ['GET', 'POST'],
      url: `/${name}`,
      handler: (request, reply) => serve(endpoint, name === 'token', request, reply),
    });
  }
  app.register(trendsRoutes, { settings, clock });
  app.register(pictureRoutes);
  app.setNotFoundHandler((request, reply) =>
    sendError(request, reply, new ProviderError(404, 'unknownPath', 'This path does not exist.')),
  );
  // The handlers catch their own errors, so only a body that cannot be parsed ends here.
  app.setErrorHandler((_error, request, reply) => sendError(request, reply, invalidParameter()));

  async function serve(endpoint: Endpoint, isFree: boolean, request: FastifyRequest, reply: FastifyReply) {
    const now = clock.now();
    const params = request.query as Params;
    const tokens = tokensOf(params.key);
    if (settings.DEMO_LATENCY_MS > 0) await sleep(clock, settings.DEMO_LATENCY_MS, undefined, 'latency');
    try {
      checkKey(params.key);
      if (!isFree && tokens.state().tokensLeft <= 0)
        throw new ProviderError(429, 'notEnoughTokens', 'You do not have enough tokens');
      if (!isFree) injectFault(settings);
      const answer = await endpoint({ params, body: request.body, now, nowMinutes: toKeepaMinutes(now) });
      tokens.charge(answer.tokens);
      return await sendAnswer(request, reply, answer, now);
    } catch (error) {
      const known =
        error instanceof ProviderError ? error : new ProviderError(500, 'internal', String(error));
      return sendError(request, reply, known);
    }
  }

  return app;
}

/** The replies of the provider. Each has the state of the token bucket; the settings can corrupt some of them. */
function createReplies(settings: DemoSettings, tokensOf: ReturnType<typeof createBuckets>, clock: Clock) {
  function sendError(request: FastifyRequest, reply: FastifyReply, { status, type, message }: ProviderError) {
    // A wrong key has no bucket, so its answer shows an empty one.
    const isBadKey = type === 'badKey';
    const body = {
      ...envelope(request, 0, clock.now()),
      ...(isBadKey && { tokensLeft: 0, refillIn: 0, refillRate: 0 }),
      error: { type: isBadKey ? 'invalidParameter' : type, message, details: '' },
    };
    return sendText(request, reply.code(status), JSON.stringify(body));
  }

  /** The fields that every answer has. */
  function envelope(request: FastifyRequest, tokensConsumed: number, startedAt: number) {
    const timestamp = clock.now();
    const state = tokensOf((request.query as Params).key).state();
    return { timestamp, ...state, tokensConsumed, processingTimeInMs: timestamp - startedAt };
  }

  async function sendAnswer(
    request: FastifyRequest,
    reply: FastifyReply,
    answer: EndpointAnswer,
    startedAt: number,
  ) {
    if ('picture' in answer)
      return sendBytes(reply.header('content-type', 'image/png'), answer.picture, settings);
    const head = JSON.stringify(envelope(request, answer.tokens, startedAt)).slice(0, -1);
    const payload =
      'payloadText' in answer ? answer.payloadText : JSON.stringify(answer.payload).slice(1, -1);
    return sendText(request, reply, payload === '' ? `${head}}` : `${head},${payload}}`);
  }

  async function sendText(request: FastifyRequest, reply: FastifyReply, text: string) {
    reply.header('content-type', 'application/json;charset=UTF-8');
    const body = Buffer.from(text);
    const isCompressed =
      /\bgzip\b/.test(String(request.headers['accept-encoding'])) && body.length > SHORTEST_COMPRESSED_BYTES;
    if (!isCompressed) return sendBytes(reply, body, settings);
    return sendBytes(reply.header('content-encoding', 'gzip'), await gzip(body, { level: 1 }), settings);
  }

  return { sendAnswer, sendError };
}

/** Keys whose tokens are known. A real account has one, and an endless number of made-up keys must not fill the memory. */
const MOST_ACCOUNTS = 1_000;

type Bucket = ReturnType<typeof createBucket>;

/** Returns the tokens of each key; further keys share those of the first. */
function createBuckets(clock: Clock, ratePerMinute: number): (key: string | undefined) => Bucket {
  const buckets = new Map<string, Bucket>();
  return (key = '') => {
    const name =
      buckets.has(key) || buckets.size < MOST_ACCOUNTS ? key : (buckets.keys().next().value ?? key);
    const known = buckets.get(name) ?? createBucket(clock, ratePerMinute);
    buckets.set(name, known);
    return known;
  };
}

const CAPACITY_MINUTES = 60;

/**
 * The token bucket of one key, as the provider keeps it. It is refilled every minute up to an hour's tokens, accepts a
 * call while any tokens remain, and may become negative by the call's actual cost.
 */
function createBucket(clock: Clock, refillRate: number) {
  let tokensLeft = refillRate * CAPACITY_MINUTES;
  let nextTickAt = clock.now() + MINUTE_MS;
  return {
    charge(tokens: number): void {
      tokensLeft -= tokens;
    },
    /** Returns the token fields of an answer. */
    state() {
      const now = clock.now();
      if (now >= nextTickAt) {
        const ticks = 1 + Math.floor((now - nextTickAt) / MINUTE_MS);
        tokensLeft = Math.min(tokensLeft + ticks * refillRate, refillRate * CAPACITY_MINUTES);
        nextTickAt += ticks * MINUTE_MS;
      }
      return { tokensLeft, refillIn: nextTickAt - now, refillRate, tokenFlowReduction: 0 };
    },
  };
}

function checkKey(key: string | undefined): void {
  if (key === UNPAID_KEY) throw new ProviderError(402, 'paymentRequired', 'This API key has no access.');
  if (key === undefined || key.length < SHORTEST_KEY)
    throw new ProviderError(400, 'badKey', 'You used an invalid parameter for this API call.');
}

function injectFault({ DEMO_FAIL_RATE, DEMO_ERROR_BODY_RATE }: DemoSettings): void {
  const dice = Math.random();
  if (dice < DEMO_FAIL_RATE) throw new ProviderError(500, 'internalServerError', 'Unexpected error.');
  if (dice < DEMO_FAIL_RATE + DEMO_ERROR_BODY_RATE)
    throw new ProviderError(200, 'invalidParameter', 'The request was rejected.');
}

/** Sends a body, or a corrupt one at the rates of the settings. */
function sendBytes(
  reply: FastifyReply,
  bytes: Buffer,
  { DEMO_MALFORMED_RATE, DEMO_TRUNCATE_RATE }: DemoSettings,
) {
  if (Math.random() < DEMO_MALFORMED_RATE)
    return reply.removeHeader('content-encoding').send(Buffer.from('<html><body>Bad gateway</body>'));
  const isTruncated = Math.random() < DEMO_TRUNCATE_RATE;
  return reply.send(isTruncated ? bytes.subarray(0, bytes.length >> 1) : bytes);
}
