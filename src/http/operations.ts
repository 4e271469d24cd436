import type { FastifyInstance } from 'fastify';
import type { LocalOperation, QueuedOperation } from '../operations/define.ts';
import { LOCAL, QUEUED } from '../operations/index.ts';
import type { Gateway } from './gateway.ts';
import { serveLocal } from './serve-local.ts';
import { serveQueued } from './serve-queued.ts';

/** Every route of every operation, as declared. */
export function registerOperations(app: FastifyInstance, gateway: Gateway): void {
  for (const operation of QUEUED as readonly unknown[] as readonly QueuedOperation[]) {
    for (const route of operation.routes) {
      app.route({ method: route.method, url: route.path, handler: serveQueued(gateway, operation, route) });
    }
  }
  for (const operation of LOCAL as readonly unknown[] as readonly LocalOperation[]) {
    for (const route of operation.routes) {
      app.route({ method: route.method, url: route.path, handler: serveLocal(gateway, operation, route) });
    }
  }
}
