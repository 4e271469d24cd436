import { sendVersion, type Version } from '../../version.ts';
import { publicEndpoint } from '../endpoint.ts';

export const getOpenApi = publicEndpoint({
  tag: 'service',
  method: 'get',
  path: '/openapi.json',
  summary: 'Returns this document.',
  answers: {
    200: {
      description: 'This document',
      headers: { ETag: { $ref: '#/components/headers/ETag' } },
      content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
    },
    304: {
      description: 'The document has not changed since the version in If-None-Match',
      headers: { ETag: { $ref: '#/components/headers/ETag' } },
    },
  },
  errors: ['METHOD_NOT_ALLOWED'],

  handle: ({ document }: { document: Version }, request, reply) => sendVersion(request, reply, document),
});
