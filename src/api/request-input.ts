import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { inputOn, type QueuedOperation, type Route } from '../operations/define.ts';
import { toFaults } from '../operations/faults.ts';
import { isRecord } from '../operations/params/request.ts';
import { invalidParameters } from '../platform/errors.ts';

/** Returns the canonical input of a request to an operation. @throws SoukError VALIDATION_FAILED or SELECTION_INVALID, naming every invalid parameter. */
export function parseInput<Input>(
  operation: Pick<QueuedOperation<string, Input>, 'params' | 'onDay' | 'invalidKind'>,
  route: Route,
  request: FastifyRequest,
  now: number,
): Input {
  const { query, body, params } = request as {
    query: Record<string, unknown>;
    body: unknown;
    params: Record<string, unknown>;
  };
  const sent = route.decode ? route.decode({ query, body, params }) : route.method === 'GET' ? query : body;
  const raw = withFieldsOf(query, sent, operation.invalidKind);
  return inputOn(operation, parseAs(operation.params, raw, operation.invalidKind), now);
}

/** Adds the fields in a query to parameters that come from a body or a selection. */
function withFieldsOf(
  { fields }: Record<string, unknown>,
  sent: unknown,
  invalidKind?: 'SELECTION_INVALID',
): unknown {
  if (fields === undefined || !isRecord(sent) || sent.fields === fields) return sent;
  if (sent.fields === undefined) return { ...sent, fields };
  const problem = 'must be sent once: in the query, or with the other parameters';
  throw invalidParameters([{ parameter: 'fields', problem }], invalidKind);
}

/** Parses a value with a schema. @throws SoukError naming every invalid parameter. */
export function parseAs<Value>(
  schema: z.ZodType<Value>,
  raw: unknown,
  invalidKind?: 'SELECTION_INVALID',
): Value {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw invalidParameters(result.error.issues.flatMap(toFaults), invalidKind);
}
