import type { VNode } from 'preact';
import { z } from 'zod';
import { Field, Fields } from '../kit/form.tsx';
import type { FormValues } from '../kit/form-request.ts';
import { Time } from '../kit/words.tsx';

const TIMES = [
  ['hourly', 'Every hour'],
  ['sixHourly', 'Every 6 hours'],
  ['daily', 'Every day at'],
  ['weekly', 'Every week on'],
  ['monthly', 'Every month on'],
  ['custom', 'More: a cron pattern'],
] as const;

type Times = (typeof TIMES)[number][0];

/** Patterns without fields of their own. */
const FIXED: ReadonlyMap<string, string> = new Map([
  ['hourly', '0 * * * *'],
  ['sixHourly', '0 */6 * * *'],
]);

const WEEKDAYS = [
  ['1', 'Monday'],
  ['2', 'Tuesday'],
  ['3', 'Wednesday'],
  ['4', 'Thursday'],
  ['5', 'Friday'],
  ['6', 'Saturday'],
  ['0', 'Sunday'],
  ['1-5', 'Monday to Friday'],
] as const;

/** Every month has these days. */
const MONTH_DAYS = Array.from({ length: 28 }, (_, i) => String(i + 1));

const ZONES = Intl.supportedValuesOf('timeZone');

/** The fields of the times. Those that the chosen times do not need are hidden. @param preset the times of a new form. */
export function TimingFields({ preset, isNew }: { preset: Times; isNew: boolean }): VNode {
  return (
    <div class="timing">
      <Fields
        rows={[
          ['times', 'Times', { options: TIMES, preset }],
          ['weekday', 'Day of the week', { options: WEEKDAYS, preset: '1' }],
          ['monthDay', 'Day of the month', { options: MONTH_DAYS.map((one) => [one, one] as const) }],
          ['at', 'Time of day', { type: 'time', preset: '06:00' }],
        ]}
      />
      <Field
        name="cron"
        label="Cron pattern"
        hint="Minute, hour, day of the month, month, day of the week. 30 9 * * 1 means Mondays at 09:30."
      />
      <Field name="timezone" label="Time zone" preset="UTC" suggestions={ZONES} data-browser-zone={isNew} />
    </div>
  );
}

/** What a time field without a value means. */
const MIDNIGHT = '00:00';

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

/** The fields of the times in a form; the API validates the pattern and the zone. */
export const timingShape = {
  times: z.string().default('custom'),
  weekday: z.enum(WEEKDAYS.map(([value]) => value)).default('1'),
  monthDay: z.enum(MONTH_DAYS).default('1'),
  at: z
    .string()
    .regex(TIME_OF_DAY, 'must be a time such as 06:30')
    .or(z.literal('').transform(() => MIDNIGHT))
    .default(MIDNIGHT),
  cron: z.string().trim().default(''),
  timezone: z.string().trim().default('UTC'),
};

type TimingValues = Partial<Record<'times' | 'weekday' | 'monthDay' | 'at' | 'cron', string | undefined>>;

/** The pattern that a form asks for. */
export function cronOf(values: TimingValues): string {
  const { times = '', weekday = '1', monthDay = '1', at, cron = '' } = values;
  const fixed = FIXED.get(times);
  if (fixed !== undefined) return fixed;
  const [, hour = '', minute = ''] = TIME_OF_DAY.exec(at || MIDNIGHT) ?? [];
  const start = `${Number(minute)} ${Number(hour)}`;
  if (times === 'daily') return `${start} * * *`;
  if (times === 'weekly') return `${start} * * ${weekday}`;
  return times === 'monthly' ? `${start} ${monthDay} * *` : cron;
}

/** The values of these fields for an existing pattern. */
export function timingValues(cron: string, timezone: string): FormValues {
  const found = namedTimes(cron);
  return { times: 'custom', ...found, cron, timezone };
}

function namedTimes(cron: string): TimingValues | null {
  const fixed = [...FIXED].find(([, pattern]) => pattern === cron);
  if (fixed) return { times: fixed[0] };
  const [, minute = '', hour = '', monthDay = '', weekday = ''] =
    /^(\d\d?) (\d\d?) (\*|\d\d?) \* (\*|\d|1-5)$/.exec(cron) ?? [];
  const at = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  const times = monthDay !== '*' ? 'monthly' : weekday === '*' ? 'daily' : 'weekly';
  const values = {
    times,
    at,
    ...(times === 'monthly' && { monthDay }),
    ...(times === 'weekly' && { weekday }),
  };
  const isKnown = WEEKDAYS.some(([value]) => value === weekday) || weekday === '*';
  const isOffered = times !== 'monthly' || MONTH_DAYS.includes(monthDay);
  return isKnown && isOffered && cronOf(values) === cron ? values : null;
}

/** Returns a pattern in words if the forms offer it, or else the pattern. */
export function timesText(cron: string): string {
  const found = namedTimes(cron);
  if (!found) return cron;
  const { times, at, weekday, monthDay } = found;
  switch (times as Times) {
    case 'daily':
      return `Every day at ${at}`;
    case 'weekly': {
      const day = WEEKDAYS.find(([value]) => value === weekday)?.[1];
      return weekday === '1-5' ? `${day} at ${at}` : `Every ${day} at ${at}`;
    }
    case 'monthly':
      return `On day ${monthDay} of each month at ${at}`;
    default:
      return TIMES.find(([value]) => value === times)?.[1] ?? cron;
  }
}

/** A time on the clocks of a time zone, and in that of the reader. */
export function WallClock({ at, timezone }: { at: number | string; timezone: string }): VNode {
  const options = { timeZone: timezone, dateStyle: 'full', timeStyle: 'short' } as const;
  const written = new Intl.DateTimeFormat('en-GB', options).format(new Date(at));
  return (
    <>
      {written} in {timezone} (<Time at={at} />)
    </>
  );
}
