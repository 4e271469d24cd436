import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { z } from 'zod';
import { Choice, Field, HiddenFields, PostForm } from '../../kit/form.tsx';
import type { FormState } from '../../kit/form-request.ts';
import { optional } from '../../kit/paging.tsx';
import { counted } from '../../kit/words.tsx';
import { WorkFields } from '../work/work-fields.tsx';
import { optionalNumber, WINDOWS } from '../work/work-form.ts';

/** The fields of a batch besides its work. */
export const batchForm = z.object({
  name: optional(z.string()),
  maxUnits: optionalNumber,
  window: optional(z.string()),
  // The day is over when it ends.
  deadline: optional(z.iso.date('must be a day such as 2026-05-01').transform((day) => `${day}T23:59:59Z`)),
  webhook: optional(z.string().trim()),
});

/** The price of a batch that was not started. */
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
            {counted(quote.calls, 'call')}. Nothing has been started.
          </p>
        </output>
      )}
      {/* A form that is sent twice is one batch, by this key. */}
      <HiddenFields fields={{ idempotencyKey: uuid() }} />
      <WorkFields />
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
      Is told the end. Needs a <a href="/account/webhooks">secret</a>.
    </>
  );
  return (
    <fieldset>
      <legend>How</legend>
      <div class="fields">
        <Field name="name" label="Name" hint="For yourself only." />
        <Field
          name="maxUnits"
          label="Units at most"
          type="number"
          min={0}
          hint="A batch that can cost more is refused."
        />
        <Choice name="window" label="When" options={WINDOWS} />
        <Field
          name="deadline"
          label="Done by the end of"
          type="date"
          hint="What is not done by then (UTC) is given up; a week unless you say otherwise."
        />
        <Field name="webhook" label="Webhook" type="url" hint={webhookHint} />
      </div>
    </fieldset>
  );
}
