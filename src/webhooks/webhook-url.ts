import type { z } from 'zod';
import { text } from '../operations/params/scalars.ts';
import { refusalOf } from './address-guard.ts';

const LONGEST_URL = 2_000;

/**
 * The parameter that says where to tell something: an http or https address in its normal form. What its text gives away
 * is refused at once; what its name leads to is looked at whenever it is used.
 * @param allowPrivate the setting WEBHOOK_ALLOW_PRIVATE.
 */
export function webhookUrl(allowPrivate: boolean): z.ZodType<string> {
  return text({ maxLength: LONGEST_URL }).transform((given, context) => {
    const refusal = URL.canParse(given)
      ? refusalOf(new URL(given), allowPrivate)
      : 'must be an address such as https://example.com/hook';
    if (refusal === null) return new URL(given).href;
    context.addIssue({ code: 'custom', message: refusal });
    return given;
  });
}
