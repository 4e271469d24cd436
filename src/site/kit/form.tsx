import type { ComponentChildren, VNode } from 'preact';
import type { z } from 'zod';

/** What was sent in a form, as text. */
export type FormValues = Record<string, string | undefined>;

/** What is wrong, by the name of the field; '' is about the form as a whole. */
export type FormFaults = Record<string, string>;

export type Form<Input> =
  | { ok: true; input: Input; values: FormValues }
  | { ok: false; faults: FormFaults; values: FormValues };

/** Reads a form. The first fault of each field is told next to it. */
export function readForm<Input>(schema: z.ZodType<Input>, body: unknown): Form<Input> {
  const values = valuesOf(body);
  const result = schema.safeParse(values);
  if (result.success) return { ok: true, input: result.data, values };
  const faults: FormFaults = {};
  for (const { path, message } of result.error.issues) faults[String(path[0] ?? '')] ??= message;
  return { ok: false, faults, values };
}

/** Control characters, but for those that lay out text. */
const CONTROL = /[^\P{Cc}\t\n\r]/gu;

/** A field that was sent several times counts as its last. */
function valuesOf(body: unknown): FormValues {
  if (typeof body !== 'object' || body === null) return {};
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) => {
      const last: unknown = Array.isArray(value) ? value.at(-1) : value;
      // Control characters are of no use in what people fill in, and PostgreSQL does not take them all.
      return typeof last === 'string' ? [[name, last.replace(CONTROL, '')]] : [];
    }),
  );
}

/** A form that changes something: it carries the token that only our own pages know. */
export function PostForm(props: {
  action: string;
  csrf: string;
  /** Asked before it is sent. */
  confirm?: string;
  class?: string;
  children: ComponentChildren;
}): VNode {
  return (
    <form method="post" action={props.action} class={props.class} data-confirm={props.confirm}>
      <input type="hidden" name="_csrf" value={props.csrf} />
      {props.children}
    </form>
  );
}

export interface FieldProps {
  name: string;
  label: string;
  type?: 'text' | 'email' | 'password' | 'number' | 'url' | 'date';
  value?: string | undefined;
  hint?: ComponentChildren;
  fault?: string | undefined;
  required?: boolean;
  autocomplete?: string;
  min?: number;
  max?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  placeholder?: string;
}

/** A line to fill in, with its label, hint and fault said together by screen readers. */
export function Field({ name, label, hint, fault, type = 'text', value, ...rest }: FieldProps): VNode {
  const id = `field-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        // Which other attributes a type may have is for browsers to say.
        type={type as 'text'}
        value={type === 'password' ? undefined : value}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={describedBy(id, hint, fault)}
        {...rest}
      />
      <FieldNotes id={id} hint={hint} fault={fault} />
    </div>
  );
}

/** A choice of one. */
export function Choice(props: {
  name: string;
  /** Where another form of the page has a field of this name. */
  id?: string;
  label: string;
  options: readonly (readonly [value: string, text: string])[];
  value?: string | undefined;
  hint?: ComponentChildren;
  fault?: string | undefined;
}): VNode {
  const { name, label, options, value, hint, fault } = props;
  const { id = `field-${name}` } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} aria-describedby={describedBy(id, hint, fault)}>
        {options.map(([option, text]) => (
          <option key={option} value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
      <FieldNotes id={id} hint={hint} fault={fault} />
    </div>
  );
}

/** Several lines to fill in. */
export function TextArea({
  name,
  label,
  hint,
  fault,
  value,
  ...rest
}: FieldProps & { rows?: number }): VNode {
  const id = `field-${name}`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        aria-invalid={fault ? 'true' : undefined}
        aria-describedby={describedBy(id, hint, fault)}
        spellcheck={false}
        {...rest}
      >
        {value}
      </textarea>
      <FieldNotes id={id} hint={hint} fault={fault} />
    </div>
  );
}

/** What is wrong with the form as a whole. */
export function FormFault({ faults }: { faults: FormFaults }): VNode | null {
  const text = faults[''];
  return text ? (
    <div class="notice bad" role="alert">
      <p>{text}</p>
    </div>
  ) : null;
}

function FieldNotes({ id, hint, fault }: { id: string; hint: ComponentChildren; fault: string | undefined }) {
  return (
    <>
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault && (
        <p class="fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </>
  );
}

function describedBy(id: string, hint: ComponentChildren, fault: string | undefined): string | undefined {
  const ids = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean);
  return ids.length > 0 ? ids.join(' ') : undefined;
}
