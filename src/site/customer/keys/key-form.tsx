import type { VNode } from 'preact';
import { type KeySettings, WITHOUT_LIMITS } from '../../../accounts/key-settings.ts';
import { readKeySettings, textOfSettings } from '../../../accounts/key-settings-text.ts';
import { SCOPE_TEXTS, SCOPES } from '../../../accounts/scopes.ts';
import { Field, PostForm, TextArea } from '../../kit/form.tsx';
import { type Form, type FormState, type FormValues, readValues } from '../../kit/form-request.ts';

const fieldOf = (scope: string) => `scope_${scope}`;

/** Reads the form of a key. Without a chosen scope, the key may make every call. */
export function readKeyForm(present: KeySettings, body: unknown, now: number): Form<KeySettings> {
  const values = readValues(body);
  const scopes = SCOPES.filter((scope) => values[fieldOf(scope)] === '1').join(' ');
  const { name = '', capDay = '', capMonth = '', expiresAt = '', networks = '' } = values;
  const read = readKeySettings(present, { name, scopes, capDay, capMonth, expiresAt, networks }, now);
  if ('settings' in read) return { ok: true, input: read.settings, values, faults: {} };
  return { ok: false, values, faults: read.faults as Record<string, string> };
}

/** Returns the values of the form of a key. */
export function valuesOfKey(settings: KeySettings): FormValues {
  const { scopes: _, ...texts } = textOfSettings(settings);
  return { ...texts, ...Object.fromEntries((settings.scopes ?? []).map((scope) => [fieldOf(scope), '1'])) };
}

/** The form of a new key, or of a key that is changed. */
export function KeyForm(props: { action: string; form: FormState; button: string }): VNode {
  const { action, form, button } = props;
  return (
    <PostForm action={action} form={form}>
      <Field name="name" label="Name" maxLength={60} hint="For lists, such as “Dashboard”" />
      <fieldset>
        <legend>Scopes</legend>
        <p class="hint">Without a chosen scope, the key may do everything but manage keys.</p>
        {SCOPES.map((scope) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              name={fieldOf(scope)}
              value="1"
              checked={form.values[fieldOf(scope)] === '1'}
            />{' '}
            <code>{scope}</code> {SCOPE_TEXTS[scope]}
          </label>
        ))}
        {form.faults.scopes && <p class="fault">{form.faults.scopes}</p>}
      </fieldset>
      <Field name="capDay" label="Units a day" hint="Resets at 00:00 UTC. Empty: no cap" />
      <Field name="capMonth" label="Units a month" hint="Resets on the first, at 00:00 UTC. Empty: no cap" />
      <Field
        name="expiresAt"
        label="Expires at"
        placeholder="2027-01-31"
        hint="A day (00:00 UTC) or a time such as 2027-01-31T12:00:00Z. Empty: never"
      />
      <TextArea
        name="networks"
        label="Networks"
        rows={3}
        placeholder="203.0.113.0/24"
        hint="Addresses or networks from which the key may be used, at most 50. Empty: any"
      />
      <button type="submit" class="primary">
        {button}
      </button>
    </PostForm>
  );
}

export const EMPTY_KEY_FORM: FormState = { values: valuesOfKey(WITHOUT_LIMITS), faults: {} };
