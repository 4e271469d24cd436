import { z } from 'zod';
import { noTableWith, type QueuedOperation } from '../../operations/define.ts';
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
  const parameter = noTableWith(operation, input);
  if (parameter !== null) throw fault(`must be json with ${parameter}: ${tableHasNo(parameter)}`);
  return { ...(input as object), format };
}

/** Says why a table is not possible with a parameter. */
export function tableHasNo(parameter: string): string {
  if (parameter === 'fields') return 'the columns of a table are constant';
  return 'a table has the current values, and no history';
}

function fault(problem: string) {
  return invalidParameters([{ parameter: 'format', problem }]);
}
