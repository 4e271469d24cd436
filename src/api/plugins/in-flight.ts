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
  let running = 0;
  let onIdle = () => {};
  const end = () => {
    running -= 1;
    if (running === 0) onIdle();
  };
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const result: unknown = handler.call(this, request, reply);
      if (!(result instanceof Promise)) return result;
      running += 1;
      result.then(end, end);
      return result;
    };
  });
  app.addHook('onClose', async () => {
    if (running > 0)
      await new Promise<void>((resolve) => {
        onIdle = resolve;
      });
  });
}

/**
 * Closes connections that wait for no answer. Node.js closes only idle connections, which excludes connections that have
 * not sent a request yet. Browsers open such connections in advance.
 */
function closeUnusedConnections(app: FastifyInstance): void {
  let answering = 0;
  let isClosing = false;
  const closeWhenAnswered = () => {
    if (isClosing && answering === 0) app.server.closeAllConnections();
  };
  const end = () => {
    answering -= 1;
    closeWhenAnswered();
  };
  app.addHook('onRequest', (request, _reply, done) => {
    answering += 1;
    atEnd(request, end);
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
