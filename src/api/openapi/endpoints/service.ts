import type { JsonSchema } from '../../../operations/params/documentation.ts';
import type { ResponseObject } from '../shape.ts';
import { type Endpoint, endpointPaths } from './endpoint.ts';

const HEALTHY = statusOnly('ok');
const READY = statusOnly('ready');

const NOT_READY: JsonSchema = {
  type: 'object',
  properties: {
    status: { type: 'string', const: 'not ready' },
    missing: {
      type: 'array',
      items: { type: 'string', enum: ['postgresql', 'redis'] },
      description: 'The stores that cannot be reached',
    },
  },
  required: ['status', 'missing'],
};

const ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/openapi.json',
    summary: 'Sends this document.',
    answers: {
      200: {
        description: 'This document',
        headers: { ETag: { $ref: '#/components/headers/ETag' } },
        content: { 'application/json': { schema: { type: 'object', additionalProperties: true } } },
      },
      304: {
        description: 'It is the version that If-None-Match names',
        headers: { ETag: { $ref: '#/components/headers/ETag' } },
      },
    },
    isPublic: true,
  },
  {
    method: 'get',
    path: '/healthz',
    summary: 'Tells that the process runs.',
    answers: { 200: bare('It runs', HEALTHY) },
    isPublic: true,
  },
  {
    method: 'get',
    path: '/readyz',
    summary: 'Tells whether the process can reach its stores.',
    answers: { 200: bare('It can', READY), 503: bare('It cannot', NOT_READY) },
    isPublic: true,
  },
];

/** What needs no key. */
export const servicePaths = () => endpointPaths('service', ENDPOINTS);

function statusOnly(status: string): JsonSchema {
  return { type: 'object', properties: { status: { type: 'string', const: status } }, required: ['status'] };
}

function bare(description: string, schema: JsonSchema): ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}
