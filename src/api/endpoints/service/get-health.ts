import type { JsonSchema } from '../../../operations/params/documentation.ts';
import type { ResponseObject } from '../../openapi/shape.ts';
import { publicEndpoint } from '../endpoint.ts';

export const getHealth = publicEndpoint({
  tag: 'service',
  method: 'get',
  path: '/healthz',
  summary: 'Returns 200 while the process is running.',
  answers: { 200: bareAnswer('The process is running', statusSchema('ok')) },
  errors: ['METHOD_NOT_ALLOWED'],

  handle: () => ({ status: 'ok' }),
});

/** @param more properties that may be absent. */
export function statusSchema(status: string, more: Record<string, JsonSchema> = {}): JsonSchema {
  return {
    type: 'object',
    properties: { status: { type: 'string', const: status }, ...more },
    required: ['status'],
  };
}

/** A JSON answer without the envelope. */
export function bareAnswer(description: string, schema: JsonSchema): ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}
