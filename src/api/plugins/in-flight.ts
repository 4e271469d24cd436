import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { atEnd } from './request-end.ts';

/** Longest wait for clients that are still reading their answers. */
const DRAIN_LIMIT_MS = 30_000;

/** Makes closing wait for running handlers and for answers that are being sent, and for no other connection. */
export function finishRequestsOnClose(app: FastifyInstance): void {
  finishHandlersOnClose(app);
  closeUnusedConnections(app);
}

/** A handler whose client has disconnected still needs the stores. */
function finishHandlersOnClose(app: FastifyInstance): void {
  const running = new Set<Promise<void>>();
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const result: unknown = handler.call(this, request, reply);
      if (!(result instanceof Promise)) return result;
      const forget = () => void running.delete(ended);
      const ended: Promise<void> = result.then(forget, forget);
      running.add(ended);
      return result;
    };
  });
  app.addHook('onClose', async () => {
    await Promise.all(running);
  });
}

/**
 * Closes connections that wait for no answer. Node.js closes only idle connections, which excludes connections that have
 * not sent a request yet. Browsers open such connections in advance.
 */
function closeUnusedConnections(app: FastifyInstance): void {
  const answering = new Set<ServerResponse>();
  let isClosing = false;
  const closeWhenAnswered = () => {
    if (isClosing && answering.size === 0) app.server.closeAllConnections();
  };
  app.addHook('onRequest', (request, { raw }, done) => {
    answering.add(raw);
    atEnd(request, () => {
      answering.delete(raw);
      closeWhenAnswered();
    });
    done();
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    const limit = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT_MS).unref();
    app.server.once('close', () => clearTimeout(limit));
    closeWhenAnswered();
    done();
  });
}
