import type { VNode } from 'preact';
import { PRICE_OPTIONS } from '../../../batches/trackers/condition-text.ts';
import type { TrackerView } from '../../../batches/trackers/view.ts';
import { CheckAndSaveButtons, Choice, Field, PostForm, TextArea } from '../../kit/form.tsx';
import type { FormState } from '../../kit/form-request.ts';
import { amount, counted } from '../../kit/words.tsx';
import { WINDOWS } from '../batch-items/batch-items-form.ts';
import { SiteChoice } from '../explore/site-choice.tsx';
import { wallClock } from '../schedules/schedule-form.tsx';
import { CONDITION_ROWS } from './tracker-request.ts';
import { DROP_OF_30_DAYS } from './tracker-values.ts';

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

const E_MAIL = [
  ['false', 'None'],
  ['true', 'Alerts, at most one mail an hour'],
] as const;

const AT_START = [
  ['false', 'When they become true'],
  ['true', 'Also if they are true at the first check'],
] as const;

/** The form shows one condition more than there are, and at least three. */
const FEWEST_ROWS = 3;

export function TrackerForm(props: {
  action: string;
  form: FormState;
  quote: TrackerView | null;
  /** The tracker that is changed; null for a new one. */
  present: TrackerView | null;
}): VNode {
  const { action, form, quote, present } = props;
  const filled = Math.max(0, ...CONDITION_ROWS.filter((row) => form.values[`type${row}`]));
  return (
    <PostForm action={action} form={form}>
      {quote && <Quote quote={quote} />}
      <fieldset>
        <legend>What to track</legend>
        {present && <p class="hint">{keepsText(present)}</p>}
        <div class="fields">
          <Field name="name" label="Name" maxLength={200} />
          <SiteChoice />
          {!present && <Choice name="subject" label="Track" options={SUBJECTS} />}
        </div>
        <TextArea name="items" label="ASINs or keywords" rows={6} />
      </fieldset>
      <Conditions rows={CONDITION_ROWS.slice(0, Math.max(FEWEST_ROWS, filled + 1))} />
      <When />
      <CheckAndSaveButtons />
    </PostForm>
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
          <Choice
            name={`type${row}`}
            label={`Condition ${row}`}
            options={TYPES}
            preset={row === 1 ? 'price_below' : ''}
          />
          <Choice
            name={`price${row}`}
            label={`Price of condition ${row}`}
            options={PRICE_OPTIONS}
            preset="new"
          />
          <Field
            name={`value${row}`}
            label={`Value of condition ${row}`}
            hint="A price such as 19.99, a rank, stars such as 4.5, or percent."
          />
        </div>
      ))}
      <div class="fields">
        <Choice name="alertAtStart" label="Alert" options={AT_START} />
        <Field
          name="hysteresisPercent"
          label="Hysteresis in percent"
          type="number"
          min={0}
          max={50}
          placeholder="2"
        />
        <Field
          name="quietHours"
          label="Quiet hours after an alert"
          type="number"
          min={0}
          max={720}
          placeholder="24"
        />
      </div>
    </fieldset>
  );
}

function When(): VNode {
  return (
    <fieldset>
      <legend>Timing and delivery</legend>
      <div class="fields">
        <Field
          name="cron"
          label="Cron pattern"
          preset="0 6 * * *"
          hint="Minute, hour, day of the month, month, day of the week. 0 6 * * * means every day at 06:00."
        />
        <Field
          name="timezone"
          label="Time zone"
          preset="UTC"
          suggestions={Intl.supportedValuesOf('timeZone')}
        />
        <Choice name="window" label="Hours" options={WINDOWS} />
        <Field name="maxUnits" label="Maximum units per check" type="number" min={0} />
        <Field name="webhook" label="Webhook" type="url" hint="Receives the alerts." />
        <Choice name="email" label="E-mail" options={E_MAIL} />
      </div>
    </fieldset>
  );
}

/** The next checks and the price of a tracker that was not saved. */
function Quote({ quote: { nextRuns, timezone, units, unitsPerDay, items } }: { quote: TrackerView }): VNode {
  const [next] = nextRuns;
  return (
    <section class="notice good" aria-labelledby="check">
      <h2 id="check">Price</h2>
      <p>
        At most {counted(units, 'unit')} per check of {counted(items, 'item')}, at most {amount(unitsPerDay)}{' '}
        per day on average. {next && `The next check is on ${wallClock(Date.parse(next), timezone)}. `}The
        tracker has not been saved.
      </p>
    </section>
  );
}
