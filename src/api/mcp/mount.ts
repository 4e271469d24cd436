import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { invalidParameters, SoukError } from '../../platform/errors.ts';
import { createProtocolHandler, refusalOfOrigin, type Served } from './protocol.ts';

interface Mounting<Caller> {
  served: Served<Caller>;
  /** Host names of allowed requests, and of the pages that may send them. */
  allowedHosts: readonly string[];
  /** @throws SoukError if the request has no valid caller. */
  identify(request: FastifyRequest): Caller | Promise<Caller>;
  onError(error: Error): void;
}

export const MCP_PATH = '/mcp';

/** Maximum messages in a body: each of them is a call. */
const MOST_MESSAGES = 20;

/**
 * Serves the Model Context Protocol (Streamable HTTP, without sessions) at one address.
 * @param scope must serve nothing else: its first hook refuses requests from foreign pages.
 */
export function mountProtocol<Caller>(
  scope: FastifyInstance,
  { served, allowedHosts, identify, onError }: Mounting<Caller>,
): void {
  const running = new Set<Promise<unknown>>();
  let isClosing = false;
  const handler = createProtocolHandler(tracked(served, running), onError);
  // Runs before the body is read and before the key is checked.
  scope.addHook('onRequest', async (request, reply) => {
    const refusal = refusalOfOrigin(webRequest(request), allowedHosts);
    if (refusal) await reply.send(refusal);
  });
  scope.post(MCP_PATH, async (request, reply) => {
    const { body } = request;
    refuseTooMany(body);
    const caller = await identify(request);
    // A closed handler accepts no requests.
    if (isClosing) throw new SoukError('BUSY');
    reply.header('x-request-id', request.id);
    const answer = await handler.handle(webRequest(request, signalOf(reply)), body, caller);
    // The header of the handler would replace the header that all answers have.
    answer.headers.delete('cache-control');
    return reply.send(answer);
  });
  // Streams that clients keep open do not end by themselves.
  scope.addHook('preClose', () => {
    isClosing = true;
    return handler.close();
  });
  // A call whose client has disconnected still needs the stores.
  scope.addHook('onClose', async () => {
    await Promise.all(running);
  });
}

/** @throws SoukError VALIDATION_FAILED. */
function refuseTooMany(body: unknown): void {
  if (!Array.isArray(body) || body.length <= MOST_MESSAGES) return;
  const problem = `must have at most ${MOST_MESSAGES} messages, got ${body.length}`;
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

/** Aborts if the client disconnects before it has the answer. The signal of Fastify aborts once the body has been read. */
function signalOf({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

/** Converts the request without its body, which has been read already. */
function webRequest({ headers, method }: FastifyRequest, signal?: AbortSignal): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return new Request(`http://localhost${MCP_PATH}`, { method, headers: pairs, signal: signal ?? null });
}
