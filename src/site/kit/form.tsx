import { type ComponentChildren, createContext, type VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { z } from 'zod';
import { PASSWORD_LENGTH } from '../../accounts/passwords.ts';
import { ANSWER } from './elements.tsx';
import { type FormFaults, type FormState, type FormValues, NO_INPUT } from './form-request.ts';
import { CurrentPage } from './page-context.ts';

/** State of the form that is being rendered, from which its fields take their values and faults. */
const CurrentForm = createContext(NO_INPUT);

/** A form that changes something. It has a token that only pages of this site know. */
export function PostForm(props: {
  action: string;
  /** The values and faults to show. */
  form?: FormState | undefined;
  /** Question to confirm before the form is sent. */
  confirm?: string | undefined;
  class?: string;
  /** Whether a field is a file. */
  hasFile?: boolean;
  children: ComponentChildren;
}): VNode {
  const { action, form = NO_INPUT, confirm, hasFile = false, children } = props;
  const fault = form.faults[''];
  return (
    <form
      method="post"
      action={action}
      class={props.class}
      data-confirm={confirm}
      enctype={hasFile ? 'multipart/form-data' : undefined}
    >
      <input type="hidden" name="_csrf" value={useContext(CurrentPage).formToken()} />
      {fault && (
        <div class="notice bad" role="alert" {...ANSWER}>
          <p>{fault}</p>
        </div>
      )}
      <CurrentForm.Provider value={form}>{children}</CurrentForm.Provider>
    </form>
  );
}

/** A form that consists of one button. */
export function PostButton(props: {
  action: string;
  confirm?: string | undefined;
  class?: string | undefined;
  /** Hidden fields. */
  fields?: Readonly<Record<string, string>>;
  children: ComponentChildren;
}): VNode {
  const { action, confirm, fields = {}, children } = props;
  return (
    <PostForm action={action} confirm={confirm}>
      <HiddenFields fields={fields} />
      <button type="submit" class={props.class}>
        {children}
      </button>
    </PostForm>
  );
}

/** The button that sends a form. */
export function Submit({ children }: { children: ComponentChildren }): VNode {
  return (
    <button type="submit" class="primary">
      {children}
    </button>
  );
}

/** The buttons of a form that can be checked, with its price, before it is saved; the field `intent` says which was pressed. */
export function CheckAndSaveButtons(): VNode {
  return (
    <div class="buttons">
      <button type="submit" name="intent" value="check">
        Check cost
      </button>
      <button type="submit" name="intent" value="save" class="primary">
        Save
      </button>
    </div>
  );
}

export function HiddenFields({ fields }: { fields: Readonly<Record<string, string | undefined>> }): VNode {
  return (
    <>
      {Object.entries(fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

/** A form that filters the page it is on. */
export function FilterForm(props: {
  path: string;
  /** Values of the address's query. */
  values: FormValues;
  faults?: FormFaults;
  button?: string;
  /** Fields. */
  children: ComponentChildren;
  /** Links next to the button. */
  links?: ComponentChildren;
}): VNode {
  const { path, values, faults = {}, button = 'Filter', children, links } = props;
  return (
    <form class="filters" method="get" action={path}>
      <CurrentForm.Provider value={{ values, faults }}>{children}</CurrentForm.Provider>
      <button type="submit">{button}</button>
      {links}
    </form>
  );
}

interface Labelling {
  name: string;
  /** Required if another form of the page has a field of this name. */
  id?: string;
  label: string;
  hint?: ComponentChildren;
}

/** Attributes that connect an input with its label, hint and fault for screen readers. The first fault of a page has the focus. */
interface Labelled {
  id: string;
  name: string;
  'aria-invalid': 'true' | undefined;
  'aria-describedby': string | undefined;
  autofocus: boolean;
}

function Labelled({
  name,
  id = `field-${name}`,
  label,
  hint,
  children,
}: Omit<Labelling, 'label'> & {
  /** null: the children have it. */
  label: string | null;
  children: (attributes: Labelled, value: string | undefined) => ComponentChildren;
}): VNode {
  const { values, faults } = useContext(CurrentForm);
  const fault = faults[name];
  const notes = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const attributes = {
    id,
    name,
    'aria-invalid': fault ? ('true' as const) : undefined,
    'aria-describedby': notes || undefined,
    autofocus: fault !== undefined,
  };
  return (
    <div class="field">
      {label !== null && <label for={id}>{label}</label>}
      {children(attributes, values[name])}
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
    </div>
  );
}

interface FieldProps extends Labelling {
  type?: 'text' | 'email' | 'password' | 'number' | 'url' | 'date' | 'time' | 'datetime-local' | 'file';
  /** Endings of files. */
  accept?: string;
  /** Whether files can be dropped on the page. */
  'data-drop'?: boolean;
  /** Initial value. */
  preset?: string;
  /** Suggestions while typing; other values are allowed. */
  suggestions?: readonly string[];
  autocomplete?: string;
  required?: boolean;
  min?: number;
  max?: number;
  /** Default: whole numbers. */
  step?: number;
  minLength?: number;
  maxLength?: number;
  placeholder?: string;
  slider?: Slider;
  /** Whether the browser fills in its time zone. */
  'data-browser-zone'?: boolean;
}

/** A range input beside a number field, which `screener.js` shows and connects with it. It is no part of the form. */
interface Slider {
  from: number;
  to: number;
  /** `both`: fine around 0. */
  scale: 'linear' | 'log' | 'both';
  /** The end that means: no bound. */
  open: 'low' | 'high';
}

/** A text input. A password is never written into the page. */
export function Field(props: FieldProps): VNode {
  const { name, id, label, hint, type = 'text', preset, suggestions, slider, ...rest } = props;
  return (
    <Labelled name={name} label={label} hint={hint} {...(id ? { id } : {})}>
      {(attributes, value = preset) => (
        <>
          <input
            {...attributes}
            // The types would allow only the attributes of one input type.
            type={type as 'text'}
            value={inputValue(type, value)}
            {...(suggestions ? { list: `${attributes.id}-suggestions` } : {})}
            {...rest}
          />
          {slider && (
            <input
              type="range"
              hidden
              min={0}
              max={100}
              aria-label={`${label}, slider`}
              data-for={attributes.id}
              data-from={slider.from}
              data-to={slider.to}
              data-scale={slider.scale}
              data-open={slider.open}
            />
          )}
          {suggestions && (
            <datalist id={`${attributes.id}-suggestions`}>
              {suggestions.map((suggestion) => (
                <option key={suggestion} value={suggestion} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  );
}

export type Option = readonly [value: string, text: string];

/** Characters of a time up to its minute. */
const MINUTE_LENGTH = 'YYYY-MM-DDTHH:MM'.length;

function inputValue(type: FieldProps['type'], value: string | undefined): string | undefined {
  if (type === 'password' || type === 'file') return undefined;
  return type === 'datetime-local' ? value?.slice(0, MINUTE_LENGTH) : value;
}

/** Completes a time of a field `datetime-local`. Without scripts, a browser sends it without its zone, which is UTC then. */
export function withZone(time: string | undefined): string | undefined {
  return time?.length === MINUTE_LENGTH ? `${time}:00Z` : time;
}

interface ChoiceProps extends Labelling {
  options?: readonly Option[];
  /** Further options under headings. */
  groups?: readonly (readonly [heading: string, options: readonly Option[]])[];
  /** Initial value. */
  preset?: string;
}

/** A select box. */
export function Choice(props: ChoiceProps): VNode {
  const { name, id, label, hint, options = [], groups = [], preset } = props;
  return (
    <Labelled name={name} label={label} hint={hint} {...(id ? { id } : {})}>
      {(attributes, chosen = preset) => (
        <select {...attributes}>
          <Options options={options} chosen={chosen} />
          {groups.map(([heading, members]) => (
            <optgroup key={heading} label={heading}>
              <Options options={members} chosen={chosen} />
            </optgroup>
          ))}
        </select>
      )}
    </Labelled>
  );
}

function Options({ options, chosen }: { options: readonly Option[]; chosen: string | undefined }): VNode {
  return (
    <>
      {options.map(([value, text]) => (
        <option key={value} value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </>
  );
}

/** A field as a row: its name, its label, and what else an input or a select box takes. */
export type FieldRow = readonly [
  name: string,
  label: string,
  more?: Omit<FieldProps, 'name' | 'label'> | Omit<ChoiceProps, 'name' | 'label'>,
];

/** Fields one after the other. Those with options or groups are select boxes. */
export function Fields({ rows }: { rows: readonly FieldRow[] }): VNode {
  return (
    <>
      {rows.map(([name, label, more = {}]) =>
        'options' in more || 'groups' in more ? (
          <Choice key={name} name={name} label={label} {...more} />
        ) : (
          <Field key={name} name={name} label={label} {...more} />
        ),
      )}
    </>
  );
}

/**
 * A check box. @param props.preset whether it is checked in a new form, which is then also the meaning of an absent value: only a
 * choice that differs from it is sent as `false`.
 */
export function CheckBox({ preset = false, ...labelling }: Labelling & { preset?: boolean }): VNode {
  const { label, ...others } = labelling;
  return (
    <Labelled {...others} label={null}>
      {(attributes, value = String(preset)) => (
        <label class="check">
          <input type="hidden" name={attributes.name} value={preset ? 'false' : ''} />
          <input type="checkbox" {...attributes} value="true" checked={value === 'true'} /> {label}
        </label>
      )}
    </Labelled>
  );
}

export function TextArea(props: Labelling & { preset?: string; rows: number; placeholder?: string }): VNode {
  const { name, label, hint, preset, rows, placeholder } = props;
  return (
    <Labelled name={name} label={label} hint={hint}>
      {(attributes, value = preset) => (
        <textarea {...attributes} spellcheck={false} rows={rows} placeholder={placeholder}>
          {value}
        </textarea>
      )}
    </Labelled>
  );
}

export const newPassword = z
  .string({ error: `must have at least ${PASSWORD_LENGTH.min} characters` })
  .min(PASSWORD_LENGTH.min, `must have at least ${PASSWORD_LENGTH.min} characters`)
  .max(PASSWORD_LENGTH.max, `must have at most ${PASSWORD_LENGTH.max} characters`);

/** The current password. */
export const presentPassword = z
  .string({ error: 'is required' })
  .min(1, 'is required')
  .max(PASSWORD_LENGTH.max, `must have at most ${PASSWORD_LENGTH.max} characters`);

/** The field of the password that a person has. */
export function CurrentPassword(props: { name: string; id?: string; label?: string }): VNode {
  return (
    <Field label="Current password" {...props} type="password" autocomplete="current-password" required />
  );
}

/** The field of a new password, named `password`. */
export function NewPasswordField(props: {
  label: string;
  /** Text after the length requirement. */
  hint?: string;
}): VNode {
  const { label, hint } = props;
  return (
    <Field
      name="password"
      label={label}
      type="password"
      autocomplete="new-password"
      required
      minLength={PASSWORD_LENGTH.min}
      hint={[`At least ${PASSWORD_LENGTH.min} characters.`, hint].filter(Boolean).join(' ')}
    />
  );
}
