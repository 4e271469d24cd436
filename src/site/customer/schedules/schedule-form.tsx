import type { VNode } from 'preact';
import { CheckAndSaveButtons, Choice, Field, PostForm } from '../../kit/form.tsx';
import type { FormState } from '../../kit/form-request.ts';
import { counted, Time } from '../../kit/words.tsx';
import { BatchItemsFields } from '../batch-items/batch-items-fields.tsx';
import { WINDOWS } from '../batch-items/batch-items-form.ts';

/** The most that each run can cost. */
export interface SchedulePrice {
  items: number;
  units: number;
}

/** The result of checking a schedule that has not been saved. */
export interface ScheduleCheck {
  /** Unix milliseconds. */
  nextRuns: readonly number[];
  /** null: another field of the form is not valid. */
  price: SchedulePrice | null;
}

const ZONES = Intl.supportedValuesOf('timeZone');

export function ScheduleForm(props: {
  action: string;
  form: FormState;
  check: ScheduleCheck | null;
  /** The note about the items that an existing schedule has. */
  keeps?: string | undefined;
}): VNode {
  const { action, form, check, keeps } = props;
  return (
    <PostForm action={action} form={form}>
      {check && <Check check={check} timezone={form.values.timezone || 'UTC'} />}
      <When />
      <BatchItemsFields keeps={keeps} />
      <How />
      <CheckAndSaveButtons />
    </PostForm>
  );
}

function When(): VNode {
  return (
    <fieldset>
      <legend>Timing</legend>
      <div class="fields">
        <Field name="name" label="Name" maxLength={200} />
        <Field
          name="cron"
          label="Cron pattern"
          preset="0 6 * * 1"
          hint="Minute, hour, day of the month, month, day of the week. 0 6 * * 1 means Mondays at 06:00."
        />
        <Field name="timezone" label="Time zone" preset="UTC" suggestions={ZONES} />
        <Choice name="window" label="Hours" options={WINDOWS} />
      </div>
    </fieldset>
  );
}

const RESULTS = [
  ['false', 'All results'],
  ['true', 'Only changes since the previous run'],
] as const;

function How(): VNode {
  return (
    <fieldset>
      <legend>Options</legend>
      <div class="fields">
        <Choice name="onlyChanges" label="Results" options={RESULTS} />
        <Field name="runHours" label="Hours until a run expires" type="number" min={1} placeholder="24" />
        <Field
          name="maxUnits"
          label="Maximum units per run"
          type="number"
          min={0}
          hint="A run that could cost more is refused."
        />
        <Field name="webhook" label="Webhook" type="url" hint="Called when a run finishes." />
      </div>
    </fieldset>
  );
}

/** The next runs and the price of a schedule that was not saved. */
function Check({ check: { nextRuns, price }, timezone }: { check: ScheduleCheck; timezone: string }): VNode {
  return (
    <section class={`notice ${price ? 'good' : 'warn'}`} aria-labelledby="check">
      <h2 id="check">Next runs</h2>
      <ol class="steps">
        {nextRuns.map((at) => (
          <li key={at}>
            {wallClock(at, timezone)} (<Time at={at} />)
          </li>
        ))}
      </ol>
      <p>
        {price
          ? `Each run costs at most ${counted(price.units, 'unit')} for ${counted(price.items, 'item')}. The schedule has not been saved.`
          : 'Correct the errors below. The schedule has not been saved.'}
      </p>
    </section>
  );
}

/** The local date and time in a time zone. */
export function wallClock(at: number, timezone: string): string {
  const options = { timeZone: timezone, dateStyle: 'full', timeStyle: 'short' } as const;
  return `${new Intl.DateTimeFormat('en-GB', options).format(at)} in ${timezone}`;
}
