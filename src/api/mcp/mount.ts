import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidParameters, SoukError } from '../../platform/errors.ts';
import { createProtocolHandler, refusalOfOrigin, type Served } from './protocol.ts';

export interface Mounting<Caller> {
  served: Served<Caller>;
  /** Names that requests may come under, and pages they may come from. */
  allowedHosts: readonly string[];
  /** @throws SoukError when the request names no caller. */
  identify(request: FastifyRequest): Caller | Promise<Caller>;
  onError(error: Error): void;
}

export const MCP_PATH = '/mcp';

/** Messages that may come in one body: each of them is a call. */
const MOST_MESSAGES = 20;

/**
 * Serves the Model Context Protocol (Streamable HTTP, without sessions) at one address.
 * @param scope serves nothing else: requests of foreign pages are refused by its first hook.
 */
export function mountProtocol<Caller>(
  scope: FastifyInstance,
  { served, allowedHosts, identify, onError }: Mounting<Caller>,
): void {
  const running = new Set<Promise<unknown>>();
  let isClosing = false;
  const handler = createProtocolHandler(tracked(served, running), onError);
  // Before the body is read, and before the key is judged.
  scope.addHook('onRequest', async (request, reply) => {
    const refusal = refusalOfOrigin(webRequest(request), allowedHosts);
    if (refusal) await reply.send(refusal);
  });
  scope.post(MCP_PATH, async (request, reply) => {
    const caller = await identify(request);
    const { body } = request;
    refuseTooMany(body);
    // Once closed, the handler takes nothing.
    if (isClosing) throw new SoukError('BUSY');
    reply.header('x-request-id', request.id);
    const answer = await handler.handle(webRequest(request), body, caller);
    // Its own header would replace the one that all answers have.
    answer.headers.delete('cache-control');
    return reply.send(answer);
  });
  // Streams that clients keep open would never end by themselves.
  scope.addHook('preClose', () => {
    isClosing = true;
    return handler.close();
  });
  // A call whose client has hung up still needs the stores.
  scope.addHook('onClose', async () => {
    await Promise.all(running);
  });
}

/** @throws SoukError VALIDATION_FAILED. */
function refuseTooMany(body: unknown): void {
  if (!Array.isArray(body) || body.length <= MOST_MESSAGES) return;
  const problem = `has ${body.length} messages; at most ${MOST_MESSAGES} may come at once`;
  throw invalidParameters([{ parameter: 'body', problem }]);
}

function tracked<Caller>(served: Served<Caller>, running: Set<Promise<unknown>>): Served<Caller> {
  const track = <T>(work: Promise<T>): Promise<T> => {
    const forget = () => void running.delete(ended);
    const ended: Promise<void> = work.then(forget, forget);
    running.add(ended);
    return work;
  };
  return {
    ...served,
    callTool: (...args) => track(served.callTool(...args)),
    listResources: (...args) => track(served.listResources(...args)),
    readResource: (...args) => track(served.readResource(...args)),
  };
}

/** The request without its body, which is read already. */
function webRequest({ headers, method, signal }: FastifyRequest): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return new Request(`http://localhost${MCP_PATH}`, { method, headers: pairs, signal });
}
