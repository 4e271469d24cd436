import type { VNode } from 'preact';
import type { Operation } from '../../../operations/define.ts';
import { OPERATIONS } from '../../../operations/index.ts';
import { DOMAIN_NAMES, SITES } from '../../../operations/params/domain.ts';
import {
  Choice,
  Field,
  FormFault,
  type FormFaults,
  type FormValues,
  PostForm,
  TextArea,
} from '../../kit/form.tsx';
import { OperationChoice } from '../operation-choice.tsx';
import { FIELD_PREFIX, type TryField } from './try-fields.ts';

/** Which operation is tried. */
export function ChooseOperation({ operation }: { operation: Operation }): VNode {
  return (
    <form class="filters" method="get" action="/account/try">
      <OperationChoice operations={OPERATIONS} value={operation.name} />
      <button type="submit">Choose</button>
    </form>
  );
}

/** A form that is made of an operation's contract: what it needs first, the rest folded away. */
export function TryForm(props: {
  operation: Operation;
  fields: readonly TryField[];
  csrf: string;
  values: FormValues;
  faults: FormFaults;
}): VNode {
  const { operation, fields, csrf, values, faults } = props;
  const optional = fields.filter(({ required }) => !required);
  const isUsed = optional.some(({ name }) => values[FIELD_PREFIX + name] || faults[FIELD_PREFIX + name]);
  return (
    <PostForm action="/account/try" csrf={csrf}>
      <FormFault faults={faults} />
      <input type="hidden" name="operation" value={operation.name} />
      <Fields fields={fields.filter(({ required }) => required)} values={values} faults={faults} />
      {optional.length > 0 && (
        <details open={isUsed}>
          <summary>
            {optional.length} more {optional.length === 1 ? 'parameter' : 'parameters'}
          </summary>
          <Fields fields={optional} values={values} faults={faults} />
        </details>
      )}
      <div class="buttons">
        <button type="submit" name="intent" value="price">
          Show the price
        </button>
        <button type="submit" name="intent" value="call" class="primary">
          Call
        </button>
      </div>
    </PostForm>
  );
}

function Fields(props: { fields: readonly TryField[]; values: FormValues; faults: FormFaults }): VNode {
  return (
    <div class="fields">
      {props.fields.map((field) => {
        const name = FIELD_PREFIX + field.name;
        const shared = { name, label: field.name, value: props.values[name], fault: props.faults[name] };
        return <TryInput key={name} field={field} shared={shared} />;
      })}
    </div>
  );
}

function TryInput(props: {
  field: TryField;
  shared: { name: string; label: string; value: string | undefined; fault: string | undefined };
}): VNode {
  const { field, shared } = props;
  const hint = hintOf(field);
  switch (field.kind) {
    case 'choice':
    case 'boolean':
      return <Choice {...shared} hint={hint} options={optionsOf(field)} />;
    case 'json':
      return (
        <div class="whole">
          <TextArea {...shared} hint={hint} rows={4} placeholder={exampleText(field)} />
        </div>
      );
    default:
      // Bounds are told, not enforced here: what the service says of a wrong value is worth seeing.
      return <Field {...shared} hint={hint} placeholder={exampleText(field)} />;
  }
}

function optionsOf({ name, kind, required, schema }: TryField): [string, string][] {
  const values = kind === 'boolean' ? ['true', 'false'] : (schema.enum ?? []).map(String);
  const isSite = (DOMAIN_NAMES as readonly string[]).includes(name);
  const sites: Readonly<Record<string, string>> = SITES;
  const options = values.map((value): [string, string] => [
    value,
    isSite && sites[value] ? `${value}, ${sites[value]}` : value,
  ]);
  const { default: preset } = schema;
  return required
    ? options
    : [['', preset === undefined ? '-' : `by default: ${asText(preset)}`], ...options];
}

function hintOf({ description, schema, kind }: TryField): string {
  const { default: preset } = schema;
  const isChosen = kind === 'choice' || kind === 'boolean';
  const facts = [
    kind === 'list' ? 'several with commas between' : null,
    kind === 'json' ? 'as JSON' : null,
    isChosen || preset === undefined || preset === null || preset === ''
      ? null
      : `by default ${asText(preset)}`,
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
