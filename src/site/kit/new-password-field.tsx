import type { VNode } from 'preact';
import { z } from 'zod';
import { PASSWORD_LENGTH } from '../../accounts/passwords.ts';
import { Field } from './form.tsx';

export const newPassword = z
  .string({ error: `must have at least ${PASSWORD_LENGTH.min} characters` })
  .min(PASSWORD_LENGTH.min, `must have at least ${PASSWORD_LENGTH.min} characters`)
  .max(PASSWORD_LENGTH.max, `must have at most ${PASSWORD_LENGTH.max} characters`);

/** The current password. */
export const presentPassword = z
  .string({ error: 'is required' })
  .min(1, 'is required')
  .max(PASSWORD_LENGTH.max, `must have at most ${PASSWORD_LENGTH.max} characters`);

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
