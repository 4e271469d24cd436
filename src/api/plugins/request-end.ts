import type { FastifyInstance, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyRequest {
    /** Callbacks for the end of the request; null once it has ended. */
    endings: (() => void)[] | null;
  }
}

/** Lets other plugins act at the end of a request: when its answer has been sent, or its client has disconnected. */
export function registerRequestEnd(app: FastifyInstance): void {
  app.decorateRequest('endings', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.endings = [];
    // Fastify's own hook misses clients that disconnect with the last byte. `once` would create three more objects.
    reply.raw.on('close', () => {
      const endings = request.endings ?? [];
      request.endings = null;
      for (const end of endings) end();
    });
    done();
  });
}

/** Calls `callback` at the end of a request, at once if it has ended. */
export function atEnd({ endings }: FastifyRequest, callback: () => void): void {
  if (endings) endings.push(callback);
  else callback();
}
