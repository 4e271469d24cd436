import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { Choice, Field, HiddenFields, PostForm } from '../../kit/form.tsx';
import type { FormState } from '../../kit/form-request.ts';
import { optional } from '../../kit/paging.tsx';
import { counted } from '../../kit/words.tsx';
import { BatchItemsFields } from '../batch-items/batch-items-fields.tsx';
import { optionalNumber, WINDOWS } from '../batch-items/batch-items-form.ts';

/** The fields of a batch besides its operation and items. */
export const batchForm = z.object({
  name: optional(z.string()),
  maxUnits: optionalNumber,
  window: optional(z.string()),
  // The deadline is the end of the chosen day.
  deadline: optional(z.iso.date('must be a date such as 2026-05-01').transform((day) => `${day}T23:59:59Z`)),
  webhook: optional(z.string().trim()),
});

/** The price of a batch that has not been started. */
export interface BatchQuote {
  items: number;
  calls: number;
  units: number;
}

export function BatchForm({ form, quote }: { form: FormState; quote: BatchQuote | null }): VNode {
  return (
    <PostForm action="/account/batches/new" form={form}>
      {quote && (
        <output class="notice good">
          <p>
            <strong>At most {counted(quote.units, 'unit')}</strong> for {counted(quote.items, 'item')} in{' '}
            {counted(quote.calls, 'call')}. The batch has not been started.
          </p>
        </output>
      )}
      {/* With the key, a form that is sent twice creates one batch. */}
      <HiddenFields fields={{ idempotencyKey: uuid() }} />
      <BatchItemsFields />
      <Settings />
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

function Settings(): VNode {
  const webhookHint = (
    <>
      Called when the batch finishes. Requires a <a href="/account/webhooks">signing secret</a>.
    </>
  );
  return (
    <fieldset>
      <legend>Options</legend>
      <div class="fields">
        <Field name="name" label="Name" hint="Shown only to you." />
        <Field
          name="maxUnits"
          label="Maximum units"
          type="number"
          min={0}
          hint="A batch that could cost more is refused."
        />
        <Choice name="window" label="Hours" options={WINDOWS} />
        <Field
          name="deadline"
          label="Deadline"
          type="date"
          hint="Items that have not finished by the end of this day (UTC) fail. Default: one week."
        />
        <Field name="webhook" label="Webhook" type="url" hint={webhookHint} />
      </div>
    </fieldset>
  );
}
