import type { z } from 'zod';
import { text } from '../operations/params/scalars.ts';
import { refusalOf } from './address-guard.ts';

const LONGEST_URL = 2_000;

/**
 * Parameter for the address of a webhook: an http or https URL, in its normal form. URLs that are wrong by their
 * text are refused at once; the addresses of a host name are checked at each delivery.
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
