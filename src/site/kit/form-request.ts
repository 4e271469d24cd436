import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';

/** What was sent in a form, as text. */
export type FormValues = Record<string, string | undefined>;

/** What is wrong, by the name of the field; '' is about the form as a whole. */
export type FormFaults = Record<string, string>;

export interface FormState {
  values: FormValues;
  faults: FormFaults;
}

/** An empty form. */
export const NO_INPUT: FormState = { values: {}, faults: {} };

export type Form<Input> = ({ ok: true; input: Input } | { ok: false }) & FormState;

/** Reads a form. The first fault of each field is told next to it. */
export function readForm<Input>(schema: z.ZodType<Input>, body: unknown): Form<Input> {
  const values = readValues(body);
  const result = schema.safeParse(values);
  if (result.success) return { ok: true, input: result.data, values, faults: {} };
  const faults: FormFaults = {};
  for (const { path, message } of result.error.issues) faults[String(path[0] ?? '')] ??= message;
  return { ok: false, values, faults };
}

/** Control characters, but for those that lay out text. */
const CONTROL = /[^\P{Cc}\t\n\r]/gu;

/** The texts of a form or a query. A field that was sent several times counts as its last. */
export function readValues(body: unknown): FormValues {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => {
      const last: unknown = Array.isArray(value) ? value.at(-1) : value;
      // Control characters are of no use in what people fill in, and PostgreSQL does not take them all.
      return typeof last === 'string' ? [[name, last.replace(CONTROL, '')]] : [];
    }),
  );
}

/** A form that was well filled in and refused all the same; its page is shown again with the faults. */
export class FormRefused extends Error {
  readonly status: number;
  readonly faults: FormFaults;

  constructor(status: number, faults: FormFaults) {
    super(`the form was refused with ${status}`);
    this.status = status;
    this.faults = faults;
  }
}

/** Sends the page of a form: empty, or with what was filled in and what is wrong with it. */
export type ShowForm = (
  reply: FastifyReply,
  form: FormState,
  status?: number,
) => FastifyReply | Promise<FastifyReply>;

/**
 * Handles a form: reads it, does what it asks for, and leads to another page. Where it is faulty or refused, its own page
 * is shown again with what was filled in.
 * @param reader a schema of the fields, or what reads them.
 * @param submit returns the address of the next page, or the page it has sent. @throws FormRefused.
 */
export function onSubmit<Input>(
  reader: z.ZodType<Input> | ((body: unknown) => Form<Input>),
  show: ShowForm,
  submit: (
    input: Input,
    request: FastifyRequest,
    reply: FastifyReply,
    values: FormValues,
  ) => Promise<string | FastifyReply>,
) {
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
