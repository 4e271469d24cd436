import { isDeepStrictEqual } from 'node:util';
import type { VNode } from 'preact';
import { z } from 'zod';
import { type Condition, MOST_CONDITIONS, PRICE_OPTIONS } from '../../batches/trackers/condition.ts';
import type { TrackerView } from '../../batches/trackers/tracker.ts';
import { SITES } from '../../operations/params/domain.ts';
import { currencyDigits } from '../../operations/products/history.ts';
import { ANSWER } from '../kit/elements.tsx';
import {
  CheckAndSaveButtons,
  CheckBox,
  Choice,
  Field,
  Fields,
  HiddenFields,
  PostForm,
  TextArea,
} from '../kit/form.tsx';
import type { FormValues } from '../kit/form-request.ts';
import { optional } from '../kit/list-page.tsx';
import { amount, counted } from '../kit/words.tsx';
import { linesOf, optionalNumber, WINDOWS } from './batch-items.tsx';
import { SITE_FIELD } from './explore/explore-view.tsx';
import { asinsIn } from './explore/product-address.ts';
import {
  RANGE_FIELDS,
  SCREEN_FIELDS,
  ScreenFields,
  savedScreen,
  screenValues,
} from './explore/screen-fields.tsx';
import type { WorkForm } from './repeated-work.tsx';
import { cronOf, TimingFields, timingShape, timingValues, WallClock } from './timing-fields.tsx';

/** The choice of the form for a price that drops below the average of 30 days; `price_drop` is that of 90 days. */
const DROP_OF_30_DAYS = 'price_drop_30';

const TYPES = [
  ['', 'None'],
  ['price_below', 'Price below'],
  ['price_drop', 'Price drops by percent (90 days)'],
  [DROP_OF_30_DAYS, 'Price drops by percent (30 days)'],
  ['back_in_stock', 'Back in stock'],
  ['buy_box_owner', 'Buy Box owner changes'],
  ['sales_rank_below', 'Sales rank below'],
  ['sales_rank_above', 'Sales rank above'],
  ['rating_below', 'Rating below'],
  ['keyword_rank_below', 'Keyword rank below'],
  ['keyword_rank_above', 'Keyword rank above'],
] as const;

const SUBJECTS = [
  ['products', 'Products, by ASIN'],
  ['keywords', 'Keywords, one on each line'],
] as const;

/** The form shows one condition more than there are, and at least three. */
const FEWEST_ROWS = 3;

export function TrackerForm(props: WorkForm<TrackerView>): VNode {
  const { action, form, checked, present } = props;
  const filled = Math.max(0, ...CONDITION_ROWS.filter((row) => form.values[`type${row}`]));
  if (isScreen(form.values, present)) return <ScreenForm {...props} />;
  return (
    <PostForm action={action} form={form}>
      <fieldset>
        <legend>What to track</legend>
        {present && <p class="hint">{keepsText(present)}</p>}
        <div class="fields">
          <Field name="name" label="Name" maxLength={200} />
          <Fields rows={[SITE_FIELD]} />
          {!present && <Choice name="subject" label="Track" options={SUBJECTS} />}
        </div>
        <TextArea name="items" label="ASINs or keywords" rows={6} />
      </fieldset>
      <Conditions rows={CONDITION_ROWS.slice(0, Math.max(FEWEST_ROWS, filled + 1))} />
      <When present={present} />
      {checked && <Quote quote={checked} />}
      <CheckAndSaveButtons />
    </PostForm>
  );
}

/** Whether a form is about a saved screen: that of the screener, which sends its filters, or of an existing tracker. */
function isScreen({ subject }: FormValues, present: TrackerView | null): boolean {
  return present ? present.subject === 'screen' : subject === 'screen';
}

/** The form of a saved screen: its filters are those of the screener. */
function ScreenForm({ action, form, checked, present }: WorkForm<TrackerView>): VNode {
  return (
    <PostForm action={action} form={form}>
      <fieldset>
        <legend>Filters</legend>
        <p class="hint">
          {present
            ? 'If you change the filters, the next run lists the terms, and later runs report which terms entered and left.'
            : 'The screen runs when a week is imported.'}
        </p>
        <HiddenFields fields={{ subject: 'screen' }} />
        <div class="filters">
          <ScreenFields />
        </div>
      </fieldset>
      <fieldset>
        <legend>Name and delivery</legend>
        <div class="fields">
          <Field name="name" label="Name" maxLength={200} />
          <Field name="maxUnits" label="Maximum units per run" type="number" min={0} />
          <DeliveryFields present={present} />
        </div>
      </fieldset>
      {checked && <Quote quote={checked} />}
      <CheckAndSaveButtons />
    </PostForm>
  );
}

const KEEP_CHAT = [
  ['keep', 'Keep'],
  ['remove', 'Remove'],
] as const;

/** The fields that say where alerts are sent. The address of a chat is a secret, and not shown again. */
export function DeliveryFields({ present = null }: { present?: TrackerView | null }): VNode {
  const chat = present?.chat;
  return (
    <>
      <CheckBox name="email" label="Mail alerts, at most one mail an hour" />
      <Field name="webhook" label="Webhook" type="url" hint="Receives the alerts, signed." />
      <Field
        name="chat"
        label="Chat"
        type="url"
        placeholder="https://hooks.slack.com/services/..."
        hint={
          chat
            ? `Leave empty to keep ${chat}.`
            : 'Incoming webhook of Slack, Discord or Microsoft Teams; at most one message a minute.'
        }
      />
      {chat && <Choice name="presentChat" label={`Chat at ${chat}`} options={KEEP_CHAT} />}
    </>
  );
}

function keepsText({ items, subject }: TrackerView): string {
  const tracked = counted(items, subject === 'products' ? 'product' : 'keyword');
  return `This tracker has ${tracked}. Leave the field empty to keep them; a list replaces them.`;
}

function Conditions({ rows }: { rows: readonly number[] }): VNode {
  return (
    <fieldset>
      <legend>Conditions</legend>
      {rows.map((row) => (
        <div key={row} class="fields">
          <Fields
            rows={[
              [`type${row}`, `Condition ${row}`, { options: TYPES, preset: row === 1 ? 'price_below' : '' }],
              [`price${row}`, `Price of condition ${row}`, { options: PRICE_OPTIONS, preset: 'new' }],
              [
                `value${row}`,
                `Value of condition ${row}`,
                { hint: 'A price such as 19.99, a rank, stars such as 4.5, or percent.' },
              ],
            ]}
          />
        </div>
      ))}
      <div class="fields">
        <CheckBox name="alertAtStart" label="Alert if a condition is met at the first check" />
        <Field
          name="hysteresisPercent"
          label="Hysteresis, %"
          hint="After an alert, the value must return beyond the bound by this share before the same alert is repeated."
          type="number"
          min={0}
          max={50}
          placeholder="2"
        />
        <Field
          name="quietHours"
          label="Quiet hours"
          hint="The shortest time before the same alert about the same product is repeated."
          type="number"
          min={0}
          max={720}
          placeholder="24"
        />
      </div>
    </fieldset>
  );
}

function When({ present }: { present: TrackerView | null }): VNode {
  return (
    <fieldset>
      <legend>Timing and delivery</legend>
      <div class="fields">
        <TimingFields preset="daily" isNew={!present} />
        <Choice name="window" label="Hours" options={WINDOWS} />
        <Field name="maxUnits" label="Maximum units per check" type="number" min={0} />
        <DeliveryFields present={present} />
      </div>
    </fieldset>
  );
}

/** The next checks and the price of a tracker that was not saved. */
function Quote({ quote }: { quote: TrackerView }): VNode {
  const { nextRuns, timezone, units, unitsPerDay, items, screen } = quote;
  const [next] = nextRuns;
  return (
    <section class="notice good" aria-labelledby="check" {...ANSWER}>
      <h2 id="check">Price</h2>
      <p>
        At most {counted(units, 'unit')} per check of {counted(items, 'item')}, at most {amount(unitsPerDay)}{' '}
        per day on average.{' '}
        {next && (
          <>
            The next check is at <WallClock at={next} timezone={timezone} />.{' '}
          </>
        )}
        {screen && 'The first run begins as soon as the screen is saved. '}The tracker has not been saved.
      </p>
    </section>
  );
}

/** Every condition that a tracker can have, by its place in the form. The form shows at least the first three. */
const CONDITION_ROWS: readonly number[] = Array.from({ length: MOST_CONDITIONS }, (_, i) => i + 1);

const text = z.string().trim().default('');

/** The fields of a tracker besides its conditions. The API validates their values. */
export const trackerForm = z.object({
  name: text,
  ...timingShape,
  window: optional(z.string()),
  domain: z.coerce.number().default(1),
  subject: z.enum(['products', 'keywords', 'screen']).default('products'),
  items: text,
  alertAtStart: z.string().default('false'),
  hysteresisPercent: optionalNumber,
  quietHours: optionalNumber,
  maxUnits: optionalNumber,
  webhook: text,
  chat: text,
  presentChat: z.enum(['keep', 'remove']).default('keep'),
  email: z.string().default('false'),
});

type TrackerInput = z.output<typeof trackerForm>;

/**
 * The body of a request that creates a tracker, or changes one.
 * @param present the tracker that is changed; null for a new one.
 */
export function trackerBody(input: TrackerInput, values: FormValues, present: TrackerView | null) {
  const { domain, webhook, chat, alertAtStart, window, hysteresisPercent, quietHours, maxUnits, email } =
    input;
  const { name, timezone, subject, presentChat } = input;
  const others = (present?.notify ?? ['webhook', 'chat']).filter((way) => way !== 'email');
  const keepsChat = chat === '' && present !== null && presentChat === 'keep';
  const always = {
    name,
    maxUnits: maxUnits ?? null,
    notify: email === 'true' ? [...others, 'email'] : others,
    webhook: webhook === '' ? null : webhook,
    ...(keepsChat ? {} : { chat: chat === '' ? null : chat }),
  };
  if ((present?.subject ?? subject) === 'screen')
    return { ...always, ...(hasSameScreen(present, values) ? {} : { screen: savedScreen(values) }) };
  return {
    ...always,
    cron: cronOf(input),
    timezone,
    window,
    hysteresisPercent,
    quietHours,
    alertAtStart: alertAtStart === 'true',
    ...subjectsOf(input, present),
    conditions: rowsIn(values).map((row) => conditionOf(values, row, domain)),
  };
}

/** Whether a form has the filters of a saved screen. A screen that is sent begins again, even if it is the same. */
function hasSameScreen(present: TrackerView | null, values: FormValues): boolean {
  if (!present) return false;
  const { domain, screen } = present;
  return isDeepStrictEqual(savedScreen(screenValues(domain, screen)), savedScreen(values));
}

/** Empty items leave those of a tracker unchanged, as long as they are of the same site. */
function subjectsOf({ subject, items, domain }: TrackerInput, present: TrackerView | null) {
  if (items === '' && domain === present?.domain) return {};
  const isKeywords = (present?.subject ?? subject) === 'keywords';
  const country = SITES[domain as keyof typeof SITES] ?? 'us';
  if (present && items === '') return isKeywords ? { country } : { domain };
  return isKeywords ? { country, keywords: linesOf(items) } : { domain, asins: asinsIn(items) };
}

/** Returns the field of the form for a parameter of the API. */
export function fieldOf(parameter: string, values: FormValues): string | undefined {
  const [first = '', index = '', field = ''] = parameter.split('.');
  if (['asins', 'keywords', 'country'].includes(first)) return 'items';
  if (first === 'screen')
    return RANGE_FIELDS[index] ?? SCREEN_FIELDS.find(([name]) => name === index)?.[0] ?? '';
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

/** Bounds in the form are prices in the currency of the site, ratings in stars, and other whole numbers. */
function factorOf(type: string, domain: number): number {
  if (type === 'price_below') return 10 ** currencyDigits(domain);
  return type === 'rating_below' ? 10 : 1;
}

/** The values of the form of an existing tracker. Its products or keywords are not shown. */
export function valuesOf(tracker: TrackerView): FormValues {
  const { name, cron, timezone, window, domain, subject, conditions, alertAtStart, screen } = tracker;
  const { hysteresisPercent, quietHours, maxUnits, webhook, notify } = tracker;
  return {
    name,
    ...timingValues(cron ?? '', timezone),
    window,
    subject,
    ...(screen && screenValues(domain, screen)),
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
