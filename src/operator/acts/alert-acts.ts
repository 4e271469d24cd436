import { z } from 'zod';
import { DAY_MS, HOUR_MS, WEEK_MS } from '../../platform/durations.ts';
import type { AlertName } from '../alerts/alerts.ts';
import { silenceAlert } from '../alerts/watch.ts';
import { audited, type Operating } from '../audit.ts';

/** For how long an alert can be silenced, with the names on pages. */
export const SILENCES = { '1h': '1 hour', '1d': '1 day', '7d': '7 days' } as const;

const LENGTHS = { '1h': HOUR_MS, '1d': DAY_MS, '7d': WEEK_MS, end: 0 } as const;

/** How long a silence lasts; `end` ends one. */
export const silenceField = z.enum(['1h', '1d', '7d', 'end'], 'must be 1h, 1d, 7d or end');

/** Acts of the operator on alerts. */
export const alertActs = {
  /** Silences an alert from now on, or ends its silence. @returns until when; null: it is not silenced. */
  silence(by: Operating, name: AlertName, length: z.output<typeof silenceField>): Promise<Date | null> {
    return audited(by, async (client) => {
      const until = length === 'end' ? null : new Date(by.now + LENGTHS[length]);
      const before = await silenceAlert(client, name, until);
      const line = { action: 'alert.silenced', target: name } as const;
      return { result: until, line: { ...line, before: { until: before }, after: { until } } };
    });
  },
};
