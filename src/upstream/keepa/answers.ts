import { z } from 'zod';
import { isRecord } from '../../operations/params/request.ts';
import { parseJson } from '../../platform/json.ts';
import type { HttpResponse } from '../http-client.ts';
import type { TokenReading } from '../token-bucket.ts';

/** The fields around the payload of an answer. Fields that upstream sometimes omits are optional. */
const schema = z.looseObject({
  timestamp: z.number().optional(),
  tokensLeft: z.number().optional(),
  refillIn: z.number().optional(),
  refillRate: z.number().optional(),
  tokenFlowReduction: z.number().optional(),
  tokensConsumed: z.number().optional(),
  error: z
    .looseObject({ type: z.string().nullish(), message: z.string().nullish(), details: z.string().nullish() })
    .nullish(),
});

export type Envelope = z.output<typeof schema>;

/** @returns null if the value is not an answer of the provider. */
function readEnvelope(value: unknown): Envelope | null {
  const result = schema.safeParse(value);
  return result.success ? result.data : null;
}

/** Returns the token reading of an answer, or null. The answer to an incorrect key has only zeros and is no reading. */
function tokenReading(envelope: Envelope): TokenReading | null {
  const { tokensLeft, refillRate, refillIn, timestamp, tokenFlowReduction = 0, tokensConsumed } = envelope;
  if (tokensLeft === undefined || refillIn === undefined || !refillRate) return null;
  const netRate = refillRate - tokenFlowReduction;
  if (netRate <= 0) return null;
  return {
    tokensLeft,
    refillIn,
    refillRate: netRate,
    timestamp: timestamp ?? null,
    consumed: tokensConsumed,
  };
}

/** The result of an answer, with its reading of the token balance. */
export interface Answer<T> {
  result: T;
  reading: TokenReading | null;
}

/** The field of an answer that holds the requested data. An answer without it is malformed, unless it may be absent. */
export interface Payload {
  field: string;
  kind: 'list' | 'object';
  mayBeAbsent: boolean;
}

/** The provider answered without the requested data. */
export class Refusal extends Error {
  readonly mayPass: boolean;
  /** A value in the request is the cause, so that a request with other values may succeed. */
  readonly isForValue: boolean;
  readonly operatorMustAct: boolean;
  readonly reading: TokenReading | null;

  constructor(
    message: string,
    facts: {
      mayPass: boolean;
      isForValue?: boolean;
      operatorMustAct?: boolean;
      reading?: TokenReading | null;
    },
  ) {
    super(message);
    this.mayPass = facts.mayPass;
    this.isForValue = facts.isForValue ?? false;
    this.operatorMustAct = facts.operatorMustAct ?? false;
    this.reading = facts.reading ?? null;
  }
}

/** Parses an answer. Errors come with any status, including 200; a body that is not JSON with any status but 200. */
export function readJson({ status, body }: HttpResponse): Answer<Envelope> {
  const envelope = parsed(body);
  const reading = envelope && tokenReading(envelope);
  if (status === 200 && envelope && !isRejected(envelope)) return { result: envelope, reading };
  const { type, message } = envelope?.error ?? {};
  const said = envelope?.error ? `${type ?? 'error'}: ${message ?? ''}` : 'no readable answer';
  // The provider answers an incorrect key with 400 and a bucket of zeros, and a key without access with 402.
  const operatorMustAct = status === 402 || (status === 400 && envelope?.refillRate === 0);
  throw new Refusal(`HTTP ${status}, ${said}`, {
    mayPass: status >= 500 || (status === 200 && envelope === null),
    isForValue: !operatorMustAct && [200, 400, 405].includes(status) && envelope !== null,
    operatorMustAct,
    reading,
  });
}

/** Rejects a missing list: treated as empty, it would be charged and cached for an hour. */
export function requirePayload(
  { result, reading }: Answer<Envelope>,
  { field, kind, mayBeAbsent }: Payload,
): void {
  const value = result[field];
  if (kind === 'list' ? Array.isArray(value) : isRecord(value)) return;
  if (mayBeAbsent && (value === undefined || value === null)) return;
  throw new Refusal(`HTTP 200 without the ${kind} ${field}`, { mayPass: false, reading });
}

export function readPicture(response: HttpResponse): Answer<Buffer> {
  const { status, contentType, body } = response;
  if (status === 200 && contentType.startsWith('image/')) return { result: body, reading: null };
  readJson({ ...response, status: status === 200 ? 400 : status });
  throw new Refusal(`HTTP ${status} without a picture`, { mayPass: false });
}

/** Returns whether an error makes the answer useless. Some errors accompany good data, such as one unknown seller. */
function isRejected(envelope: Envelope): boolean {
  return Boolean(envelope.error) && !Object.keys(envelope).some((field) => PAYLOAD_FIELDS.has(field));
}

const PAYLOAD_FIELDS = new Set([
  'products',
  'categories',
  'deals',
  'bestSellersList',
  'sellers',
  'sellerIdList',
  'asinList',
  'searchInsights',
  'lightningDeals',
]);

function parsed(body: Buffer): Envelope | null {
  try {
    return readEnvelope(parseJson(body.toString()));
  } catch {
    return null;
  }
}

/** Returns the reading of a 429; without a reading the bucket counts as empty until the next full minute. */
export function exhausted({ body }: HttpResponse): TokenReading {
  const envelope = parsed(body);
  const reading = envelope && tokenReading(envelope);
  return reading
    ? { ...reading, tokensLeft: Math.min(0, reading.tokensLeft), refillIn: reading.refillIn + 100 }
    : { tokensLeft: 0, refillRate: null, refillIn: 60_000, timestamp: null };
}
