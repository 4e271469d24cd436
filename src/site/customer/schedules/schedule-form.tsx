import type { VNode } from 'preact';
import { Choice, Field, PostForm } from '../../kit/form.tsx';
import type { FormState } from '../../kit/form-request.ts';
import { counted, Time } from '../../kit/words.tsx';
import { WorkFields } from '../work/work-fields.tsx';
import { WINDOWS } from '../work/work-form.ts';

/** The most that each run costs. */
export interface SchedulePrice {
  items: number;
  units: number;
}

/** What a check has found. */
export interface ScheduleCheck {
  /** Unix milliseconds. */
  nextRuns: readonly number[];
  /** null: something else in the form is wrong. */
  price: SchedulePrice | null;
}

const ZONES = Intl.supportedValuesOf('timeZone');

export function ScheduleForm(props: {
  action: string;
  form: FormState;
  check: ScheduleCheck | null;
  /** Said of a schedule that has items already. */
  keeps?: string | undefined;
}): VNode {
  const { action, form, check, keeps } = props;
  return (
    <PostForm action={action} form={form}>
      {check && <Check check={check} timezone={form.values.timezone || 'UTC'} />}
      <When />
      <WorkFields keeps={keeps} />
      <How />
      <div class="buttons">
        <button type="submit" name="intent" value="check">
          Check
        </button>
        <button type="submit" name="intent" value="save" class="primary">
          Save
        </button>
      </div>
    </PostForm>
  );
}

function When(): VNode {
  return (
    <fieldset>
      <legend>When</legend>
      <div class="fields">
        <Field name="name" label="Name" maxLength={200} />
        <Field
          name="cron"
          label="Cron pattern"
          placeholder="0 6 * * 1"
          hint="Minute, hour, day of the month, month, day of the week: 0 6 * * 1 is Mondays at 6."
        />
        <Field name="timezone" label="Time zone" preset="UTC" suggestions={ZONES} />
        <Choice name="window" label="Work" options={WINDOWS} />
      </div>
    </fieldset>
  );
}

const RESULTS = [
  ['false', 'Everything'],
  ['true', 'Only what has changed since the run before'],
] as const;

function How(): VNode {
  return (
    <fieldset>
      <legend>How</legend>
      <div class="fields">
        <Choice name="onlyChanges" label="Results" options={RESULTS} />
        <Field name="runHours" label="Hours each run has" type="number" min={1} placeholder="24" />
        <Field
          name="maxUnits"
          label="Units a run at most"
          type="number"
          min={0}
          hint="A run that can cost more is refused."
        />
        <Field name="webhook" label="Webhook" type="url" hint="Is told the end of each run." />
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
          ? `Each run costs at most ${counted(price.units, 'unit')} for ${counted(price.items, 'item')}. Nothing is saved yet.`
          : 'The rest is not right yet. Nothing is saved.'}
      </p>
    </section>
  );
}

/** What the clocks of a zone show. */
export function wallClock(at: number, timezone: string): string {
  const options = { timeZone: timezone, dateStyle: 'full', timeStyle: 'short' } as const;
  return `${new Intl.DateTimeFormat('en-GB', options).format(at)} in ${timezone}`;
}
