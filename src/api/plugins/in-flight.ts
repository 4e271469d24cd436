import type { FastifyInstance } from 'fastify';

/**
 * Makes closing wait for every running handler. Fastify waits for open connections only, but a handler whose client has
 * disconnected still needs the stores.
 */
export function finishHandlersOnClose(app: FastifyInstance): void {
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
