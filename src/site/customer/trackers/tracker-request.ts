import { z } from 'zod';
import { MOST_CONDITIONS } from '../../../batches/trackers/condition.ts';
import type { TrackerView } from '../../../batches/trackers/view.ts';
import { SITES } from '../../../operations/params/domain.ts';
import type { FormValues } from '../../kit/form-request.ts';
import { optional } from '../../kit/paging.tsx';
import { optionalNumber } from '../batch-items/batch-items-form.ts';
import { DROP_OF_30_DAYS, factorOf } from './tracker-values.ts';

/** Every condition that a tracker can have, by its place in the form. The form shows at least the first three. */
export const CONDITION_ROWS: readonly number[] = Array.from({ length: MOST_CONDITIONS }, (_, i) => i + 1);

const text = z.string().trim().default('');

/** The fields of a tracker besides its conditions. The API validates their values. */
export const trackerForm = z.object({
  name: text,
  cron: text,
  timezone: z.string().trim().default('UTC'),
  window: optional(z.string()),
  domain: z.coerce.number().default(1),
  subject: z.enum(['products', 'keywords']).default('products'),
  items: text,
  alertAtStart: z.string().default('false'),
  hysteresisPercent: optionalNumber,
  quietHours: optionalNumber,
  maxUnits: optionalNumber,
  webhook: text,
  email: z.string().default('false'),
});

export type TrackerInput = z.output<typeof trackerForm>;

/**
 * The body of a request that creates a tracker, or changes one.
 * @param present the tracker that is changed; null for a new one.
 */
export function trackerBody(input: TrackerInput, values: FormValues, present: TrackerView | null) {
  const { domain, webhook, alertAtStart, window, hysteresisPercent, quietHours, maxUnits, email } = input;
  const { name, cron, timezone } = input;
  const others = (present?.notify ?? ['webhook']).filter((way) => way !== 'email');
  return {
    ...{ name, cron, timezone, window, hysteresisPercent, quietHours },
    maxUnits: maxUnits ?? null,
    alertAtStart: alertAtStart === 'true',
    notify: email === 'true' ? [...others, 'email'] : others,
    ...subjectsOf(input, present),
    conditions: rowsIn(values).map((row) => conditionOf(values, row, domain)),
    webhook: webhook === '' ? null : webhook,
  };
}

/** Empty items leave those of a tracker unchanged, as long as they are of the same site. */
function subjectsOf({ subject, items, domain }: TrackerInput, present: TrackerView | null) {
  if (items === '' && domain === present?.domain) return {};
  const isKeywords = (present?.subject ?? subject) === 'keywords';
  const country = SITES[domain as keyof typeof SITES] ?? 'us';
  if (present && items === '') return isKeywords ? { country } : { domain };
  return isKeywords
    ? { country, keywords: linesOf(items) }
    : { domain, asins: items.split(/[\s,;]+/).filter(Boolean) };
}

/** Returns the field of the form for a parameter of the API. */
export function fieldOf(parameter: string, values: FormValues): string | undefined {
  const [first = '', index = '', field = ''] = parameter.split('.');
  if (['asins', 'keywords', 'country'].includes(first)) return 'items';
  if (first !== 'conditions') return Object.keys(trackerForm.shape).find((name) => name === first);
  const row = rowsIn(values)[Number(index || 0)] ?? 1;
  return `${field === '' ? 'type' : field}${row}`;
}

/** The rows of the form that have a condition. */
function rowsIn(values: FormValues): readonly number[] {
  return CONDITION_ROWS.filter((row) => values[`type${row}`]);
}

function conditionOf(values: FormValues, row: number, domain: number): Record<string, unknown> {
  const chosen = values[`type${row}`] ?? '';
  const type = chosen === DROP_OF_30_DAYS ? 'price_drop' : chosen;
  const written = values[`value${row}`]?.trim() ?? '';
  const hasPrice = ['price_below', 'price_drop', 'back_in_stock'].includes(type);
  const isNumber = /^\d{1,10}(?:\.\d{1,2})?$/.test(written);
  return {
    type,
    ...(chosen === DROP_OF_30_DAYS ? { days: 30 } : {}),
    ...(hasPrice ? { price: values[`price${row}`] || 'new' } : {}),
    ...(written === ''
      ? {}
      : { value: isNumber ? Math.round(Number(written) * factorOf(type, domain)) : written }),
  };
}

function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
