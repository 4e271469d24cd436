import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from '../envelope.ts';
import { openApiDocument } from '../openapi/document.ts';

// The same for every gateway of a process, and made before the first of them listens.
const BYTES = Buffer.from(JSON.stringify(openApiDocument()));
const ETAG = `"${createHash('sha256').update(BYTES).digest('base64url').slice(0, 24)}"`;

/** The description of the whole interface; no key needed. */
export function registerOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', async (request, reply) => {
    reply.header('etag', ETAG).header('cache-control', 'no-cache');
    if (names(request.headers['if-none-match'], ETAG)) return reply.code(304).send();
    return reply.header('content-type', JSON_TYPE).send(BYTES);
  });
}

/** Whether an If-None-Match header names a version, be it weakly: proxies that compress make it so. */
function names(header: string | undefined, etag: string): boolean {
  const listed = (header ?? '').split(',').map((entry) => entry.trim().replace(/^W\//, ''));
  return listed.includes(etag) || listed.includes('*');
}
