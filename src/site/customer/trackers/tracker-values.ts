import type { Condition } from '../../../batches/trackers/condition.ts';
import type { TrackerView } from '../../../batches/trackers/view.ts';
import { currencyDigits } from '../../../operations/products/named-series.ts';
import type { FormValues } from '../../kit/form-request.ts';

/** Bounds in the form are prices in the currency of the site, ratings in stars, and other whole numbers. */
export function factorOf(type: string, domain: number): number {
  if (type === 'price_below') return 10 ** currencyDigits(domain);
  return type === 'rating_below' ? 10 : 1;
}

/** The choice of the form for a price that drops below the average of 30 days; `price_drop` is that of 90 days. */
export const DROP_OF_30_DAYS = 'price_drop_30';

/** The values of the form of an existing tracker. Its products or keywords are not shown. */
export function valuesOf(tracker: TrackerView): FormValues {
  const { name, cron, timezone, window, domain, subject, conditions, alertAtStart } = tracker;
  const { hysteresisPercent, quietHours, maxUnits, webhook, notify } = tracker;
  return {
    ...{ name, cron, timezone, window, subject },
    domain: String(domain),
    alertAtStart: String(alertAtStart),
    hysteresisPercent: String(hysteresisPercent),
    quietHours: String(quietHours),
    maxUnits: maxUnits === null ? '' : String(maxUnits),
    webhook: webhook ?? '',
    email: String(notify.includes('email')),
    ...Object.assign({}, ...conditions.map((condition, i) => rowOf(condition, i + 1, domain))),
  };
}

function rowOf({ type, price, value, days }: Condition, row: number, domain: number): FormValues {
  return {
    [`type${row}`]: type === 'price_drop' && days === 30 ? DROP_OF_30_DAYS : type,
    ...(price === undefined ? {} : { [`price${row}`]: price }),
    ...(value === undefined ? {} : { [`value${row}`]: String(value / factorOf(type, domain)) }),
  };
}
