import type { FastifyInstance } from 'fastify';
import { JSON_TYPE } from '../results/envelope.ts';
import { openApiDocument } from './openapi/document.ts';
import { sendVersion, versionOf } from './version.ts';

// The same for every gateway of a process, and made before the first of them listens.
const DOCUMENT = versionOf(JSON.stringify(openApiDocument()), JSON_TYPE);

/** The description of the whole interface; no key needed. */
export function registerOpenApi(app: FastifyInstance): void {
  app.get('/openapi.json', async (request, reply) => sendVersion(request, reply, DOCUMENT));
}
