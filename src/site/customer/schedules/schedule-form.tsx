import type { VNode } from 'preact';
import { z } from 'zod';
import { Choice, Field, FormFault, type FormFaults, type FormValues, PostForm } from '../../kit/form.tsx';
import { optional } from '../../kit/paging.tsx';
import { counted, Time } from '../../kit/words.tsx';
import { WINDOWS } from '../batches/batch-form.tsx';
import { WorkFields } from '../work/work-fields.tsx';

const wholeNumber = optional(
  z
    .string()
    .trim()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number),
);

/** What a schedule is told besides its work. What it may be is for the service to judge. */
export const scheduleForm = z.object({
  name: z.string().trim().default(''),
  cron: z.string().trim().default(''),
  timezone: z.string().trim().default('UTC'),
  window: optional(z.string()),
  onlyChanges: z.string().default('false'),
  runHours: wholeNumber,
  maxUnits: wholeNumber,
  webhook: z.string().trim().default(''),
});

export const SCHEDULE_FIELDS = [
  'name',
  'cron',
  'timezone',
  'window',
  'onlyChanges',
  'runHours',
  'maxUnits',
  'webhook',
] as const;

/** What a check has found, as far as it is known. */
export interface ScheduleCheck {
  /** Unix milliseconds; of a pattern that can be. */
  nextRuns: readonly number[];
  /** Of a schedule that is right altogether. */
  price: { items: number; units: number } | null;
}

const ZONES = Intl.supportedValuesOf('timeZone');

export function ScheduleForm(props: {
  action: string;
  csrf: string;
  values: FormValues;
  faults: FormFaults;
  check: ScheduleCheck | null;
  /** Said of a schedule that has items already. */
  keeps?: string;
}): VNode {
  const { action, csrf, values, faults, check, keeps } = props;
  return (
    <PostForm action={action} csrf={csrf}>
      <FormFault faults={faults} />
      {check && <Check check={check} timezone={values.timezone || 'UTC'} />}
      <fieldset>
        <legend>When</legend>
        <div class="fields">
          <Field name="name" label="Name" value={values.name} fault={faults.name} maxLength={200} />
          <Field
            name="cron"
            label="Cron pattern"
            value={values.cron}
            fault={faults.cron}
            placeholder="0 6 * * 1"
            hint="Minute, hour, day of the month, month, day of the week: 0 6 * * 1 is Mondays at 6."
          />
          <div class="field">
            <label for="field-timezone">Time zone</label>
            <input
              id="field-timezone"
              name="timezone"
              list="zones"
              value={values.timezone ?? 'UTC'}
              aria-invalid={faults.timezone ? 'true' : undefined}
              aria-describedby={faults.timezone ? 'field-timezone-fault' : undefined}
            />
            <datalist id="zones">
              {ZONES.map((zone) => (
                <option key={zone} value={zone} />
              ))}
            </datalist>
            {faults.timezone && (
              <p class="fault" id="field-timezone-fault">
                {faults.timezone}
              </p>
            )}
          </div>
          <Choice name="window" label="Work" value={values.window} options={WINDOWS} fault={faults.window} />
        </div>
      </fieldset>
      <WorkFields values={values} faults={faults} {...(keeps ? { keeps } : {})} />
      <fieldset>
        <legend>How</legend>
        <div class="fields">
          <Choice
            name="onlyChanges"
            label="Results"
            value={values.onlyChanges}
            options={[
              ['false', 'Everything'],
              ['true', 'Only what has changed since the run before'],
            ]}
            fault={faults.onlyChanges}
          />
          <Field
            name="runHours"
            label="Hours each run has"
            type="number"
            min={1}
            value={values.runHours}
            fault={faults.runHours}
            placeholder="24"
          />
          <Field
            name="maxUnits"
            label="Units a run at most"
            type="number"
            min={0}
            value={values.maxUnits}
            fault={faults.maxUnits}
            hint="A run that can cost more is refused."
          />
          <Field
            name="webhook"
            label="Webhook"
            type="url"
            value={values.webhook}
            fault={faults.webhook}
            hint="Is told the end of each run."
          />
        </div>
      </fieldset>
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

/** What would come of it: nothing has been saved. */
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
