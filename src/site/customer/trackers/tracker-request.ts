import { z } from 'zod';
import { SITES } from '../../../operations/params/domain.ts';
import { currencyDigits } from '../../../operations/products/named-series.ts';
import type { FormValues } from '../../kit/form-request.ts';
import { optional } from '../../kit/paging.tsx';
import { optionalNumber } from '../batch-items/batch-items-form.ts';

/** The number of conditions that the form has room for. */
export const CONDITION_ROWS = [1, 2, 3] as const;

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

/** The body of a request that creates a tracker. */
export function trackerBody(input: TrackerInput, values: FormValues) {
  const { subject, items, domain, webhook, alertAtStart, window, hysteresisPercent, quietHours, maxUnits } =
    input;
  const { name, cron, timezone, email } = input;
  return {
    ...{ name, cron, timezone, window, hysteresisPercent, quietHours, maxUnits },
    alertAtStart: alertAtStart === 'true',
    ...(email === 'true' ? { notify: ['webhook', 'email'] } : {}),
    ...(subject === 'products'
      ? { domain, asins: items.split(/[\s,;]+/).filter(Boolean) }
      : { country: SITES[domain as keyof typeof SITES] ?? 'us', keywords: linesOf(items) }),
    conditions: rowsIn(values).map((row) => conditionOf(values, row, domain)),
    ...(webhook === '' ? {} : { webhook }),
  };
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

/** The form has prices in the currency of the site and ratings in stars. */
function conditionOf(values: FormValues, row: number, domain: number): Record<string, unknown> {
  const type = values[`type${row}`] ?? '';
  const written = values[`value${row}`]?.trim() ?? '';
  const hasPrice = ['price_below', 'price_drop', 'back_in_stock'].includes(type);
  const factor = type === 'price_below' ? 10 ** currencyDigits(domain) : type === 'rating_below' ? 10 : 1;
  const isNumber = /^\d{1,10}(?:\.\d{1,2})?$/.test(written);
  return {
    type,
    ...(hasPrice ? { price: values[`price${row}`] || 'new' } : {}),
    ...(written === '' ? {} : { value: isNumber ? Math.round(Number(written) * factor) : written }),
  };
}

function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.trim() || []);
}
