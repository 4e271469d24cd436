import { z } from 'zod';
import { RETENTION, type RetentionSettings } from '../operator/retention-settings.ts';
import { ConfigError } from '../platform/settings.ts';

const months = (fewest: number, fallback: number) =>
  z.coerce.number().int().min(fewest).max(1_200).default(fallback);

/** Settings of how long tables keep their rows. */
export const RETENTION_SETTINGS = {
  CALLS_KEPT_MONTHS: months(2, RETENTION.callMonths).describe(
    'Months for which finished calls are kept, after the month in which they were accepted',
  ),
  LEDGER_KEPT_MONTHS: months(0, RETENTION.ledgerMonths).describe(
    'Months after which the lines of the ledger are folded into one line for each pack or subscription, kind and month; more than CALLS_KEPT_MONTHS. 0: never',
  ),
  REPORT_WEEKS_KEPT: z.coerce
    .number()
    .int()
    .min(5)
    .max(10_000)
    .default(RETENTION.reportWeeks)
    .describe('Weekly reports of each site that are kept, besides the one before them'),
} as const;

type RetentionConfig = { [Name in keyof typeof RETENTION_SETTINGS]: number };

/** Returns how long tables keep their rows. @throws ConfigError if calls were kept for longer than their ledger lines. */
export function retentionSettings(config: RetentionConfig): RetentionSettings {
  const { CALLS_KEPT_MONTHS: callMonths, LEDGER_KEPT_MONTHS: ledgerMonths } = config;
  if (ledgerMonths !== 0 && ledgerMonths <= callMonths)
    throw new ConfigError(
      `LEDGER_KEPT_MONTHS: must be 0 or more than CALLS_KEPT_MONTHS (${callMonths}), got ${ledgerMonths}.`,
    );
  return { callMonths, ledgerMonths, reportWeeks: config.REPORT_WEEKS_KEPT };
}
