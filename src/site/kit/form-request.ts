import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { SoukError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';

/** The values of a form by field name, as text. */
export type FormValues = Record<string, string | undefined>;

/** Errors by field name; '' is the error of the whole form. */
export type FormFaults = Record<string, string>;

export interface FormState {
  values: FormValues;
  faults: FormFaults;
}

/** An empty form. */
export const NO_INPUT: FormState = { values: {}, faults: {} };

export type Form<Input> = ({ ok: true; input: Input } | { ok: false }) & FormState;

/** Validates a form. The page shows the first fault of each field next to it. */
export function readForm<Input>(schema: z.ZodType<Input>, body: unknown): Form<Input> {
  const values = readValues(body);
  const result = schema.safeParse(values);
  if (result.success) return { ok: true, input: result.data, values, faults: {} };
  const faults: FormFaults = {};
  for (const { path, message } of result.error.issues) faults[String(path[0] ?? '')] ??= message;
  return { ok: false, values, faults };
}

/** Reads the filter of a file. @throws SoukError VALIDATION_FAILED. */
export function requireFilter<Input>(schema: z.ZodType<Input>, query: unknown): Input {
  const form = readForm(schema, query);
  if (form.ok) return form.input;
  const problems = Object.entries(form.faults).map(([name, problem]) => `${name} ${problem}`);
  throw new SoukError('VALIDATION_FAILED', { message: `${problems.join('; ')}.` });
}

/** Control characters except tab and line breaks. */
const CONTROL = /[^\P{Cc}\t\n\r]/gu;

/** The values of a form or a query. The last value of a repeated field counts. */
export function readValues(body: unknown): FormValues {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => {
      const last: unknown = Array.isArray(value) ? value.at(-1) : value;
      // Control characters have no use in forms, and PostgreSQL does not accept all of them.
      return typeof last === 'string' ? [[name, last.replace(CONTROL, '')]] : [];
    }),
  );
}

/** Returns undefined for text that is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Reads a whole number of at most 15 digits. */
export function digits(problem?: string) {
  return z
    .string()
    .trim()
    .regex(/^\d{1,15}$/, problem)
    .transform(Number);
}

/** Refuses a form that passed validation. Its page is shown again with the faults. */
export class FormRefused extends Error {
  readonly status: number;
  readonly faults: FormFaults;

  constructor(status: number, faults: FormFaults) {
    super(`the form was refused with ${status}`);
    this.status = status;
    this.faults = faults;
  }
}

/** Sends the page of a form: empty, or with values and faults. */
export type ShowForm = (
  reply: FastifyReply,
  form: FormState,
  status?: number,
) => FastifyReply | Promise<FastifyReply>;

type Reader<Input> = z.ZodType<Input> | ((body: unknown) => Form<Input>);

type SubmitForm<Input> = (
  input: Input,
  request: FastifyRequest,
  reply: FastifyReply,
  values: FormValues,
) => Promise<string | FastifyReply>;

/**
 * Returns a route handler that validates a form, submits it, and redirects to the next page. The page of a faulty or refused
 * form is shown again with its values.
 * @param reader a schema of the fields, or a function that validates them.
 * @param submit returns the address of the next page, or the page it has sent. @throws FormRefused.
 */
export function onSubmit<Input>(reader: Reader<Input>, show: ShowForm, submit: SubmitForm<Input>) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const form = typeof reader === 'function' ? reader(request.body) : readForm(reader, request.body);
    if (!form.ok) return show(reply, form, 400);
    let next: string | FastifyReply;
    try {
      next = await submit(form.input, request, reply, form.values);
    } catch (error) {
      if (!(error instanceof FormRefused)) throw error;
      return show(reply, { values: form.values, faults: error.faults }, error.status);
    }
    return typeof next === 'string' ? reply.redirect(next, 303) : next;
  };
}

/** Registers a form that `onSubmit` handles. */
export function postForm<Input>(
  scope: FastifyInstance,
  path: string,
  reader: Reader<Input>,
  show: ShowForm,
  submit: SubmitForm<Input>,
): void {
  scope.post(path, onSubmit(reader, show, submit));
}
