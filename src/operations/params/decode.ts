import { boolean } from './scalars.ts';

/** `decode`: whether values are in common units. `decode=0` is the same call as one without it. */
export function decode() {
  return boolean()
    .optional()
    .transform((decode) => decode || undefined)
    .describe(
      'Return histories and statistics by name: ISO times, prices in the currency of the site, null without data',
    );
}
