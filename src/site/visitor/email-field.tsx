import type { VNode } from 'preact';
import { z } from 'zod';
import { Field } from '../kit/form.tsx';

export const emailField = z
  .string({ error: 'is missing' })
  .trim()
  .toLowerCase()
  .max(254, 'is too long')
  .pipe(z.email('is not an e-mail address'));

export function EmailField({ autocomplete }: { autocomplete: 'username' | 'email' }): VNode {
  return <Field name="email" label="E-mail address" type="email" autocomplete={autocomplete} required />;
}
