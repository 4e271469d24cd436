import type { VNode } from 'preact';
import { z } from 'zod';
import { Choice, Field, FormFault, type FormFaults, type FormValues, PostForm } from '../../kit/form.tsx';
import { optional } from '../../kit/paging.tsx';
import { counted } from '../../kit/words.tsx';
import { WorkFields } from '../work/work-fields.tsx';

const units = optional(
  z
    .string()
    .trim()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number),
);

/** What a batch is told besides its work. */
export const batchForm = z.object({
  name: optional(z.string()),
  maxUnits: units,
  window: optional(z.string()),
  // The day is over when it ends.
  deadline: optional(z.iso.date('must be a day such as 2026-05-01').transform((day) => `${day}T23:59:59Z`)),
  webhook: optional(z.string().trim()),
});

export const BATCH_FIELDS = ['name', 'maxUnits', 'window', 'deadline', 'webhook'] as const;

export const WINDOWS = [
  ['any', 'At any time'],
  ['off_peak', 'Off-peak hours only'],
] as const;

/** A price that was asked for. */
export interface BatchQuote {
  items: number;
  calls: number;
  units: number;
}

export function BatchForm(props: {
  csrf: string;
  /** Under which the batch is made: sent twice, it is one. */
  idempotencyKey: string;
  values: FormValues;
  faults: FormFaults;
  quote: BatchQuote | null;
}): VNode {
  const { csrf, idempotencyKey, values, faults, quote } = props;
  return (
    <PostForm action="/account/batches/new" csrf={csrf}>
      <FormFault faults={faults} />
      {quote && (
        <output class="notice good">
          <p>
            <strong>At most {counted(quote.units, 'unit')}</strong> for {counted(quote.items, 'item')} in{' '}
            {counted(quote.calls, 'call')}. Nothing has been started.
          </p>
        </output>
      )}
      <input type="hidden" name="idempotencyKey" value={idempotencyKey} />
      <WorkFields values={values} faults={faults} />
      <fieldset>
        <legend>How</legend>
        <div class="fields">
          <Field name="name" label="Name" value={values.name} fault={faults.name} hint="For yourself only." />
          <Field
            name="maxUnits"
            label="Units at most"
            type="number"
            min={0}
            value={values.maxUnits}
            fault={faults.maxUnits}
            hint="A batch that can cost more is refused."
          />
          <Choice name="window" label="When" value={values.window} options={WINDOWS} fault={faults.window} />
          <Field
            name="deadline"
            label="Done by the end of"
            type="date"
            value={values.deadline}
            fault={faults.deadline}
            hint="What is not done by then (UTC) is given up; a week unless you say otherwise."
          />
          <Field
            name="webhook"
            label="Webhook"
            type="url"
            value={values.webhook}
            fault={faults.webhook}
            hint={
              <>
                Is told the end. Needs a <a href="/account/webhooks">secret</a>.
              </>
            }
          />
        </div>
      </fieldset>
      <div class="buttons">
        <button type="submit" name="intent" value="price">
          Show the price
        </button>
        <button type="submit" name="intent" value="start" class="primary">
          Start the batch
        </button>
      </div>
    </PostForm>
  );
}
