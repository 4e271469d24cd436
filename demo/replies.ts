import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../src/platform/clock.ts';
import type { EndpointAnswer, Params, ProviderError } from './protocol.ts';
import type { DemoSettings } from './settings.ts';
import type { DemoTokens } from './tokens.ts';

const gzip = promisify(zlib.gzip);

const SHORTEST_COMPRESSED_BYTES = 1000;

/** The replies of the provider. Each has the state of the token bucket; the settings can corrupt some of them. */
export function createReplies(deps: {
  settings: DemoSettings;
  tokensOf: (key: string | undefined) => DemoTokens;
  clock: Clock;
}) {
  const { settings, clock } = deps;
  const stateOf = ({ query }: FastifyRequest) => deps.tokensOf((query as Params).key).state();

  function sendError(request: FastifyRequest, reply: FastifyReply, error: ProviderError) {
    // A wrong key has no bucket, so its answer shows an empty one.
    const state =
      error.type === 'badKey'
        ? { tokensLeft: 0, refillIn: 0, refillRate: 0, tokenFlowReduction: 0 }
        : stateOf(request);
    const type = error.type === 'badKey' ? 'invalidParameter' : error.type;
    const body = {
      timestamp: clock.now(),
      ...state,
      tokensConsumed: 0,
      processingTimeInMs: 0,
      error: { type, message: error.message, details: '' },
    };
    return sendText(request, reply.code(error.status), JSON.stringify(body));
  }

  async function sendAnswer(
    request: FastifyRequest,
    reply: FastifyReply,
    answer: EndpointAnswer,
    startedAt: number,
  ) {
    if ('picture' in answer)
      return sendBytes(reply.header('content-type', 'image/png'), answer.picture, settings);
    const envelope = {
      timestamp: clock.now(),
      ...stateOf(request),
      tokensConsumed: answer.tokens,
      processingTimeInMs: clock.now() - startedAt,
    };
    const head = JSON.stringify(envelope).slice(0, -1);
    const payload =
      'payloadText' in answer ? answer.payloadText : JSON.stringify(answer.payload).slice(1, -1);
    return sendText(request, reply, payload === '' ? `${head}}` : `${head},${payload}}`);
  }

  async function sendText(request: FastifyRequest, reply: FastifyReply, text: string) {
    reply.header('content-type', 'application/json;charset=UTF-8');
    const body = Buffer.from(text);
    const compressed =
      /\bgzip\b/.test(String(request.headers['accept-encoding'])) && body.length > SHORTEST_COMPRESSED_BYTES;
    if (!compressed) return sendBytes(reply, body, settings);
    return sendBytes(reply.header('content-encoding', 'gzip'), await gzip(body, { level: 1 }), settings);
  }

  return { sendAnswer, sendError };
}

/** Sends a body, or a corrupt one at the rates of the settings. */
function sendBytes(
  reply: FastifyReply,
  bytes: Buffer,
  { DEMO_MALFORMED_RATE, DEMO_TRUNCATE_RATE }: DemoSettings,
) {
  if (Math.random() < DEMO_MALFORMED_RATE) {
    return reply.removeHeader('content-encoding').send(Buffer.from('<html><body>Bad gateway</body>'));
  }
  const truncated = Math.random() < DEMO_TRUNCATE_RATE;
  return reply.send(truncated ? bytes.subarray(0, bytes.length >> 1) : bytes);
}
