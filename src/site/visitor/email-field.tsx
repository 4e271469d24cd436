import type { VNode } from 'preact';
import { z } from 'zod';
import { Field } from '../kit/form.tsx';

export const emailField = z
  .string({ error: 'is required' })
  .trim()
  .toLowerCase()
  .max(254, 'must have at most 254 characters')
  .pipe(z.email('must be an e-mail address such as ann@example.com'));

export function EmailField({ autocomplete }: { autocomplete: 'username' | 'email' | 'off' }): VNode {
  return <Field name="email" label="E-mail address" type="email" autocomplete={autocomplete} required />;
}
