import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { toKeepaMinutes } from '../src/operations/products/history.ts';
import { type Clock, sleep } from '../src/platform/clock.ts';
import { bestsellers } from './endpoints/bestsellers.ts';
import { category } from './endpoints/category.ts';
import { deal } from './endpoints/deal.ts';
import { graphimage } from './endpoints/graphimage.ts';
import { lightningdeal } from './endpoints/lightningdeal.ts';
import { product } from './endpoints/product.ts';
import { query } from './endpoints/query.ts';
import { search } from './endpoints/search.ts';
import { seller, topseller } from './endpoints/seller.ts';
import { pictureRoutes } from './pictures/drawing.ts';
import { type Endpoint, invalidParameter, type Params, ProviderError } from './protocol.ts';
import { createReplies } from './replies.ts';
import type { DemoSettings } from './settings.ts';
import { DemoTokens } from './tokens.ts';
import { trendsRoutes } from './trends/routes.ts';

/** The provider accepts every key of at least the minimum length except this one, which has not been paid for. */
const UNPAID_KEY = 'unpaid-key-unpaid-key';
const SHORTEST_KEY = 16;

/**
 * A product data provider with Keepa's protocol and generated data: every ASIN always means the same product, and all
 * lists are consistent with it. It has a token bucket; settings add latency and faults.
 */
export function buildDemoProvider(settings: DemoSettings, clock: Clock): FastifyInstance {
  const tokensOf = createAccounts(clock, settings.DEMO_TOKENS_PER_MINUTE);
  const { sendAnswer, sendError } = createReplies({ settings, tokensOf, clock });
  const app = fastify({
    logger: false,
    bodyLimit: 1_000_000,
    // The last value of a repeated parameter counts.
    routerOptions: {
      ignoreTrailingSlash: true,
      querystringParser: (text) => Object.fromEntries(new URLSearchParams(text)),
    },
  });
  for (const [name, endpoint] of Object.entries(endpointsOf(settings))) {
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
    const startedAt = clock.now();
    const params = request.query as Params;
    const tokens = tokensOf(params.key);
    if (settings.DEMO_LATENCY_MS > 0) await sleep(clock, settings.DEMO_LATENCY_MS, undefined, 'latency');
    try {
      checkKey(params.key);
      if (!isFree && !tokens.mayCall())
        throw new ProviderError(429, 'notEnoughTokens', 'You do not have enough tokens');
      if (!isFree) injectFault(settings);
      const answer = await endpoint({
        params,
        body: request.body,
        now: startedAt,
        nowMinutes: toKeepaMinutes(startedAt),
      });
      tokens.charge(answer.tokens);
      return await sendAnswer(request, reply, answer, startedAt);
    } catch (error) {
      const known =
        error instanceof ProviderError ? error : new ProviderError(500, 'internal', String(error));
      return sendError(request, reply, known);
    }
  }

  return app;
}

function endpointsOf(settings: DemoSettings): Record<string, Endpoint> {
  return {
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
}

/** Keys whose tokens are known. A real account has one, and an endless number of made-up keys must not fill the memory. */
const MOST_ACCOUNTS = 1_000;

/** Returns the tokens of each key; further keys share those of the first. */
function createAccounts(clock: Clock, ratePerMinute: number): (key: string | undefined) => DemoTokens {
  const accounts = new Map<string, DemoTokens>();
  return (key = '') => {
    const name =
      accounts.has(key) || accounts.size < MOST_ACCOUNTS ? key : (accounts.keys().next().value ?? key);
    const known = accounts.get(name) ?? new DemoTokens(clock, ratePerMinute);
    accounts.set(name, known);
    return known;
  };
}

function checkKey(key: string | undefined): void {
  if (key === UNPAID_KEY) throw new ProviderError(402, 'paymentRequired', 'This API key has no access.');
  if (key === undefined || key.length < SHORTEST_KEY) {
    throw new ProviderError(400, 'badKey', 'You used an invalid parameter for this API call.');
  }
}

function injectFault({ DEMO_FAIL_RATE, DEMO_ERROR_BODY_RATE }: DemoSettings): void {
  const dice = Math.random();
  if (dice < DEMO_FAIL_RATE) throw new ProviderError(500, 'internalServerError', 'Unexpected error.');
  if (dice < DEMO_FAIL_RATE + DEMO_ERROR_BODY_RATE)
    throw new ProviderError(200, 'invalidParameter', 'The request was rejected.');
}
