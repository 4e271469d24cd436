import { z } from 'zod';
import type { JsonSchema } from '../../operations/params/request.ts';
import { mediaTypeOf, TABLE_FORMAT_NAMES, TABLE_FORMATS } from '../../operations/tables/formats.ts';
import { ERRORS, type ErrorKind } from '../../platform/errors.ts';
import { ACCEPTED_CODE } from '../../results/envelope.ts';
import {
  type HeaderObject,
  type MediaType,
  type Paths,
  type Reference,
  type ResponseObject,
  reference,
} from './schemas.ts';

const COUNT: JsonSchema = { type: 'integer', format: 'int32', minimum: 0, maximum: 2 ** 31 - 1 };

/** Headers of answers, by name. */
export const HEADERS = {
  'X-Response-Time': {
    description: 'Processing time of the request',
    required: true,
    schema: { type: 'string', pattern: '^\\d+ms$', maxLength: 12, examples: ['12ms'] },
  },
  'X-Units-Consumed': { description: 'Units charged by this call', required: true, schema: COUNT },
  'X-Request-Id': {
    description: 'Id of this request in the logs of the service',
    required: true,
    schema: { type: 'string', format: 'uuid', maxLength: 36 },
  },
  'X-Livemode': {
    description: 'The answer is of a test key, and its data of the demo provider; absent for live keys',
    schema: { type: 'string', const: 'false' },
  },
  'X-Units-Charged': {
    description: 'Units that the job cost. Fetching its result is free, so X-Units-Consumed is 0',
    schema: COUNT,
  },
  'X-Cache': {
    description: 'HIT: all data came from the cache; MISS: data was fetched from the provider',
    schema: { type: 'string', enum: ['HIT', 'MISS'] },
  },
  'X-Job-Id': {
    description: 'Id of the job of this call',
    schema: { type: 'string', format: 'uuid', maxLength: 36 },
  },
  'X-Deduplicated': {
    description:
      'The call joined an identical call of this account from the last five minutes, free of charge',
    schema: { type: 'string', const: 'true' },
  },
  RateLimit: {
    description: 'Calls left in this minute (IETF draft); absent without a limit',
    schema: {
      type: 'string',
      pattern: '^"minute";r=\\d+;t=\\d+$',
      maxLength: 60,
      examples: ['"minute";r=59;t=31'],
    },
  },
  'RateLimit-Policy': {
    description: 'Calls allowed per minute (IETF draft)',
    schema: {
      type: 'string',
      pattern: '^"minute";q=\\d+;w=60$',
      maxLength: 60,
      examples: ['"minute";q=60;w=60'],
    },
  },
  'Retry-After': { description: 'Seconds to wait before the next attempt', schema: COUNT },
  'Preference-Applied': {
    description: 'The preference of the header Prefer that was applied',
    schema: { type: 'string', pattern: '^(?:respond-async|wait=\\d+)$', maxLength: 40 },
  },
  Location: {
    description: 'Address of the created resource',
    schema: { type: 'string', format: 'uri-reference', maxLength: 200 },
  },
  'X-Batch-Finished': {
    description: 'Whether the batch has finished, so that the results are complete',
    schema: { type: 'string', enum: ['true', 'false'] },
  },
  'X-Accel-Buffering': {
    description: 'Instructs proxies to forward events immediately',
    schema: { type: 'string', const: 'no' },
  },
  ETag: {
    description: 'Version of the document or result',
    schema: { type: 'string', pattern: '^"[^"]+"$', maxLength: 100 },
  },
  'Last-Modified': {
    description: 'When the result was made',
    schema: {
      type: 'string',
      pattern: '^\\w{3}, \\d{2} \\w{3} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$',
      maxLength: 40,
      examples: ['Wed, 04 Mar 2026 10:00:00 GMT'],
    },
  },
  'Accept-Ranges': {
    description: 'Parts of the result can be read with the header Range',
    schema: { type: 'string', const: 'bytes' },
  },
  'Content-Range': {
    description: 'Which part of the result it is',
    schema: { type: 'string', pattern: '^bytes \\d+-\\d+/\\d+$', maxLength: 60 },
  },
} as const satisfies Record<string, HeaderObject>;

type HeaderName = keyof typeof HEADERS;

/** Headers of every answer below /api/. */
const ALWAYS = ['X-Response-Time', 'X-Units-Consumed', 'X-Request-Id', 'X-Livemode'] as const;

export function headers(...names: HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(
    [...ALWAYS, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  );
}

/** Describes an answer in the envelope. @param data its schema; a zod schema must have a name. */
export function enveloped(
  description: string,
  data: z.ZodType | JsonSchema,
  ...names: HeaderName[]
): ResponseObject {
  const schema = envelope(data instanceof z.ZodType ? reference(data) : data, SUCCESS);
  return { description, headers: headers(...names), content: { 'application/json': { schema } } };
}

/** Describes an answer that holds the job of a call instead of its result. */
export function acceptedJob(description: string, job: z.ZodType, ...names: HeaderName[]): ResponseObject {
  const schema = envelope(reference(job), JOB_ACCEPTED);
  return { description, headers: headers(...names), content: { 'application/json': { schema } } };
}

/** A part has the type of the result, but is none by itself. */
const BYTES: Record<string, MediaType> = {
  '*/*': { schema: { type: 'string', format: 'binary' } },
};

const VERSION = ['ETag', 'Last-Modified', 'Accept-Ranges'] as const;

/** Describes answers to requests for a part of a result, and from clients that have it. */
export function partialAnswers(): Record<206 | 304, ResponseObject> {
  return {
    206: {
      description: 'A part of the result',
      headers: headers('Content-Range', ...VERSION),
      content: BYTES,
    },
    304: { description: 'The client has the result already', headers: headers(...VERSION) },
  };
}

/** The content of an answer in each form of a table. */
export const TABLE_CONTENT = Object.fromEntries(
  TABLE_FORMAT_NAMES.map((format) => [
    mediaTypeOf(format),
    {
      schema: TABLE_FORMATS[format].isCompressible
        ? { type: 'string' }
        : { type: 'string', format: 'binary' },
    },
  ]),
) as Record<string, { schema: JsonSchema }>;

const SUCCESS: JsonSchema = { type: 'string', const: '0000', description: 'Success' };

const JOB_ACCEPTED: JsonSchema = {
  type: 'string',
  const: ACCEPTED_CODE,
  description: 'The job has not ended; data is the job',
};

const LIVEMODE: JsonSchema = {
  type: 'boolean',
  const: false,
  description: 'Present in answers of test keys',
};

function envelope(data: JsonSchema | Reference, code: JsonSchema): JsonSchema {
  return {
    type: 'object',
    properties: {
      code,
      livemode: LIVEMODE,
      msg: { type: 'string' },
      data: data as JsonSchema,
      metadata: { type: 'object', additionalProperties: true },
    },
    required: ['code', 'msg', 'data'],
  };
}

/** Errors that every address with a key can return. */
export const COMMON_ERRORS = [
  // Also for a malformed address.
  'VALIDATION_FAILED',
  'KEY_INVALID',
  'KEY_FORBIDDEN',
  'KEY_SCOPE_MISSING',
  'KEY_ADDRESS_REFUSED',
  'PAYLOAD_TOO_LARGE',
  'TOO_MANY_REQUESTS',
  'TOO_MANY_OPEN',
  'INTERNAL',
  'BUSY',
] as const;

export const QUOTA_ERRORS = (Object.keys(ERRORS) as ErrorKind[]).filter(
  (kind) => kind.startsWith('QUOTA_') || kind === 'KEY_CAP_REACHED',
);

/** Returns the responses for these errors, by status. */
export function errorResponses(kinds: readonly ErrorKind[]): Record<string, Reference> {
  const statuses = new Set(kinds.map((kind) => ERRORS[kind].status));
  return Object.fromEntries(
    [...statuses]
      .sort((a, b) => a - b)
      .map((status) => {
        const ofStatus = new Set(kinds.filter((kind) => ERRORS[kind].status === status));
        return [String(status), { $ref: `${RESPONSES}${nameOf([...ofStatus].sort())}` }];
      }),
  );
}

const RESPONSES = '#/components/responses/';

/** Names the response of several errors: their kinds, or QUOTA, because quota errors occur together only. */
function nameOf(kinds: readonly ErrorKind[]): string {
  return kinds.every((kind) => QUOTA_ERRORS.includes(kind)) ? 'QUOTA' : kinds.join('-');
}

/** Returns the error responses that paths refer to, by name. */
export function componentResponses(paths: Paths): Record<string, ResponseObject> {
  const references = Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap(({ responses }) => Object.values(responses)),
  );
  const names = references.flatMap((response) => {
    const name = '$ref' in response ? response.$ref.slice(RESPONSES.length) : '';
    return /^[A-Z_-]+$/.test(name) ? name : [];
  });
  return Object.fromEntries(
    [...new Set(names)].sort().map((name) => {
      const kinds = name === 'QUOTA' ? QUOTA_ERRORS : (name.split('-') as ErrorKind[]);
      return [name, errorResponse(kinds)];
    }),
  );
}

function errorResponse(kinds: readonly ErrorKind[]): ResponseObject {
  const errors = kinds.map((kind) => ({ kind, ...ERRORS[kind] }));
  const mayRetry = errors.some(({ status }) => [401, 429, 503].includes(status));
  return {
    description: errors.map(({ code, text }) => `\`${code}\`: ${text}`).join('\n\n'),
    headers: headers(
      'X-Job-Id',
      ...(mayRetry ? (['Retry-After'] as const) : []),
      ...(kinds.includes('QUOTA_MINUTE_EXCEEDED') ? (['RateLimit', 'RateLimit-Policy'] as const) : []),
    ),
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: {
            code: { type: 'string', enum: errors.map(({ code }) => code) },
            msg: { type: 'string', description: 'Description of the error' },
            data: { type: 'null' },
            metadata: { $ref: '#/components/schemas/ErrorMetadata' },
          },
          required: ['code', 'msg', 'data'],
        },
        examples: Object.fromEntries(
          errors.map(({ kind, code, text }) => [kind, { value: { code, msg: text, data: null } }]),
        ),
      },
    },
  };
}

/** Schema of the metadata of errors. */
export const ERROR_METADATA: JsonSchema = {
  type: 'object',
  description: 'Details of the error, if any',
  properties: {
    errors: {
      type: 'array',
      description: 'With 400: all invalid parameters',
      items: {
        type: 'object',
        properties: {
          parameter: { type: 'string' },
          problem: { type: 'string' },
          index: { type: 'integer', format: 'int32', description: 'Index of the item in a batch' },
        },
        required: ['parameter', 'problem'],
      },
    },
    errorId: { type: 'string', description: 'With 502: id of the failure in the logs of the service' },
  },
  additionalProperties: true,
};
