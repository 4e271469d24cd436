import { z } from 'zod';
import type { QueuedOperation } from '../../operations/define.ts';
import { formOf } from '../../operations/params/answer-form.ts';
import { oneOf } from '../../operations/params/scalars.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { parseAs } from '../request-input.ts';

// Built once, because building a schema takes longer than most requests.
const formatSchema = z.object({ format: oneOf(['json', 'csv']) });

/** Returns the input of a call with the form that its query asks for. @throws SoukError VALIDATION_FAILED. */
export function inFormat(operation: QueuedOperation, input: unknown, query: unknown): unknown {
  const { format: sent } = query as Record<string, unknown>;
  if (sent === undefined) return input;
  const { format } = parseAs(formatSchema, { format: sent });
  if (format === 'json') return input;
  if (!operation.table) throw fault(`must be json: the answers of ${operation.name} do not form a table`);
  if (formOf(input).fields) throw fault('must be json with fields: the columns of a table are constant');
  return { ...(input as object), format };
}

function fault(problem: string) {
  return invalidParameters([{ parameter: 'format', problem }]);
}
