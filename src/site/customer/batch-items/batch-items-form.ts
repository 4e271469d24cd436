import { z } from 'zod';
import { type Form, type FormValues, readForm } from '../../kit/form-request.ts';
import { optional } from '../../kit/paging.tsx';
import { BATCH_ITEMS_FIELDS, type BatchItems, readBatchItems } from './batch-items.ts';

/** Limit of the forms of batches and schedules: tens of thousands of ASINs. */
export const BATCH_FORM_BYTES = 512 * 1024;

export const optionalNumber = optional(
  z
    .string()
    .trim()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number),
);

export const WINDOWS = [
  ['any', 'At any time'],
  ['off_peak', 'Off-peak hours only'],
] as const;

export function windowText(window: string): string | undefined {
  return WINDOWS.find(([name]) => name === window)?.[1];
}

/**
 * Reads a form that has the items of a batch among its fields, and reports the faults of all fields together.
 * @param keepsItems whether the form leaves the items of a schedule unchanged; `batchItems` is then null.
 */
export function readBatchForm<Input>(
  schema: z.ZodType<Input>,
  body: unknown,
  keepsItems: (values: FormValues) => boolean = () => false,
): Form<Input & { batchItems: BatchItems | null }> {
  const form = readForm(schema, body);
  const { values } = form;
  const read = keepsItems(values) ? null : readBatchItems(values);
  if (form.ok && read?.ok !== false)
    return { ...form, input: { ...form.input, batchItems: read?.batchItems ?? null } };
  return { ok: false, values, faults: { ...form.faults, ...(read?.ok === false ? read.faults : {}) } };
}

/** Returns a function that finds the field of the form for a parameter of the API. */
export function fieldsOf(schema: z.ZodObject): (parameter: string) => string | undefined {
  const names: readonly string[] = [...BATCH_ITEMS_FIELDS, ...Object.keys(schema.shape)];
  return (parameter) => names.find((name) => name === parameter.replace(/^batch\./, ''));
}
