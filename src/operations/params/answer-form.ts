import { z } from 'zod';
import { type FieldsOf, fieldProblem, knownFields, nearField, relativeName } from '../answer-fields.ts';
import { PARAMETER_PARTS } from './documentation.ts';
import { list } from './lists.ts';
import { Fault, isRecord, request } from './request.ts';

/** What a canonical input says about the form of its answer. The data are the same in every form. */
export interface AnswerForm {
  /** Dotted names, sorted; default: all fields. */
  fields?: readonly string[] | undefined;
  /** Default: JSON. */
  format?: 'csv' | undefined;
}

/** Returns the form of the answer that an input asks for. */
export function formOf(input: unknown): AnswerForm {
  return isRecord(input) ? (input as AnswerForm) : {};
}

/** Returns the input without the form of its answer: calls that differ only in that have the same sources. */
export function withoutForm<Input>(input: Input): Input {
  if (!isRecord(input) || (input.fields === undefined && input.format === undefined)) return input;
  const { fields: _, format: __, ...own } = input;
  return own as Input;
}

/**
 * Parses the canonical input of a call again. Requests have no `format` among their parameters: in the product finder it
 * is a filter.
 */
export function parseStored<Input>({ params }: { params: z.ZodType<Input> }, stored: unknown): Input {
  const { format, ...others } = stored as Record<string, unknown>;
  const input = params.parse(others);
  return format === 'csv' ? { ...input, format } : input;
}

const MOST_FIELDS = 100;
const LONGEST_NAME = 200;

/** Adds `fields` to the parameters of an operation with a JSON answer. */
export function withFields<Input>(params: z.ZodType<Input>, of: FieldsOf): z.ZodType<Input> {
  const fields = request({ fields: ['fields'] }, { fields: fieldsOf(of) });
  const both = z.unknown().transform((raw, context) => {
    const selects = isRecord(raw) && raw.fields !== undefined;
    const { fields: sent, ...others } = selects ? raw : {};
    const own = params.safeParse(selects ? others : raw);
    const selected = selects ? fields.safeParse({ fields: sent }) : null;
    const issues = [...(own.error?.issues ?? []), ...(selected?.error?.issues ?? [])];
    for (const issue of issues) context.issues.push({ ...issue, input: raw } as z.core.$ZodRawIssue);
    for (const message of issues.length > 0 ? [] : needsOf(of, selected?.data?.fields, own.data))
      context.issues.push({ code: 'custom', path: ['fields'], message, input: raw });
    return selected ? { ...own.data, ...selected.data } : own.data;
  });
  const combined = both as unknown as z.ZodType<Input>;
  PARAMETER_PARTS.set(combined, [params, fields]);
  return combined;
}

/** Returns what is wrong with fields that no record has without further parameters. */
function needsOf({ records }: FieldsOf, fields: readonly string[] = [], input: unknown): string[] {
  return fields.flatMap((field) => {
    const needed = records?.needs?.(field, input) ?? [];
    return needed.length > 0 ? [`${field} needs ${needed.join(' and ')}`] : [];
  });
}

function fieldsOf(of: FieldsOf) {
  const { records } = of;
  const names = knownFields(of).slice(0, 2);
  const always = records?.ids ? `; always returned: ${records.ids.join(', ')}` : '';
  const what = records ? `Fields of ${records.path} to return` : 'Fields of the answer to return';
  return list(
    {
      item: 'field',
      max: MOST_FIELDS,
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: LONGEST_NAME,
        pattern: '^[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+){0,9}$',
        examples: names.slice(0, 1),
      },
      parse(name) {
        const relative = relativeName(of, name);
        const problem =
          name.length > LONGEST_NAME
            ? `must be at most ${LONGEST_NAME} characters`
            : fieldProblem(of, relative);
        return problem === null ? relative : new Fault(problem, nearField(of, relative));
      },
      sorted: true,
    },
    `${what}, as dotted names${always}. Default: all`,
    { required: false },
  );
}
