import type { VNode } from 'preact';
import { DOMAIN_NAMES, SITES } from '../../operations/params/domain.ts';
import { CheckBox, Choice, Field, TextArea } from '../kit/form.tsx';
import type { FormState } from '../kit/form-request.ts';
import { FIELD_PREFIX, type TryField } from './try-request.ts';

/** The fields of an operation's parameters: required ones first, the others collapsed unless they are used. */
export function ParameterFields({ fields, form }: { fields: readonly TryField[]; form: FormState }): VNode {
  const optional = fields.filter(({ required }) => !required);
  const isUsed = optional.some(({ name, schema }) => {
    const value = form.values[FIELD_PREFIX + name];
    return (value && value !== asText(schema.default)) || form.faults[FIELD_PREFIX + name];
  });
  return (
    <>
      <Fields fields={fields.filter(({ required }) => required)} />
      {optional.length > 0 && (
        <details open={isUsed}>
          <summary>
            {optional.length} more {optional.length === 1 ? 'parameter' : 'parameters'}
          </summary>
          <Fields fields={optional} />
        </details>
      )}
    </>
  );
}

function Fields({ fields }: { fields: readonly TryField[] }): VNode {
  return (
    <div class="fields">
      {fields.map((field) => (
        <TryInput key={field.name} field={field} />
      ))}
    </div>
  );
}

function TryInput({ field }: { field: TryField }): VNode {
  const shared = { name: FIELD_PREFIX + field.name, label: field.name, hint: hintOf(field) };
  switch (field.kind) {
    case 'boolean':
      return <CheckBox {...shared} preset={field.schema.default === true} />;
    case 'choice':
      return <Choice {...shared} options={optionsOf(field)} />;
    case 'json':
      return (
        <div class="whole">
          <TextArea {...shared} rows={4} placeholder={exampleText(field)} />
        </div>
      );
    default:
      // The API checks bounds, so that its error is shown.
      return <Field {...shared} placeholder={exampleText(field)} />;
  }
}

function optionsOf({ name, required, schema }: TryField): [string, string][] {
  const values = (schema.enum ?? []).map(String);
  const isSite = (DOMAIN_NAMES as readonly string[]).includes(name);
  const sites: Readonly<Record<string, string>> = SITES;
  const options = values.map((value): [string, string] => [
    value,
    isSite && sites[value] ? `${value}, ${sites[value]}` : value,
  ]);
  const { default: preset } = schema;
  return required ? options : [['', preset === undefined ? '-' : `default: ${asText(preset)}`], ...options];
}

function hintOf({ description, schema, kind }: TryField): string {
  const { default: preset } = schema;
  const isChosen = kind === 'choice' || kind === 'boolean';
  const facts = [
    kind === 'list' ? 'separate values with commas' : null,
    kind === 'json' ? 'as JSON' : null,
    isChosen || preset === undefined || preset === null || preset === ''
      ? null
      : `default: ${asText(preset)}`,
  ].filter((fact) => fact !== null);
  return facts.length > 0 ? `${description} (${facts.join('; ')})` : description;
}

function exampleText({ schema, kind }: TryField): string {
  const [example] = schema.examples ?? [];
  if (example === undefined) return '';
  if (kind === 'list' && Array.isArray(example)) return example.join(', ');
  return asText(example);
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
