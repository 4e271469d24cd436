import type { FastifyInstance } from 'fastify';
import type { Route } from '../../operations/define.ts';
import { hasLargeInteger, parseJson } from '../../platform/json.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The error a body that is not JSON gets. */
    invalidJsonKind?: Route['invalidJsonKind'];
  }
}

/** No body that is parsed here is larger. */
export const BODY_LIMIT_BYTES = 65_536;

/** Bodies are JSON. Integers beyond 2^53 keep their digits. */
export function parseJsonBodies(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain');
  const parseBody = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text: string, done) => {
    // Some clients give every request a type, those without a body too.
    if (text === '' && request.method === 'DELETE') {
      done(null, undefined);
      return;
    }
    // What the framework's own parser refuses stays refused.
    void parseBody(request, text, (error, value: unknown) => {
      if (error) done(error);
      else done(null, hasLargeInteger(text) ? parseJson(text) : value);
    });
  });
}

/** Bodies of a scope are passed on as they came: a worker parses them. */
export function keepBodiesAsText(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  const types = ['application/json', 'application/x-ndjson'];
  scope.addContentTypeParser(types, { parseAs: 'string' }, (_request, text, done) => done(null, text));
}
