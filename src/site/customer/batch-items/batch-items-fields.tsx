import type { VNode } from 'preact';
import { QUEUED } from '../../../operations/index.ts';
import { Choice, Field, TextArea } from '../../kit/form.tsx';
import { OperationChoice } from '../operation-choice.tsx';
import { LAYOUTS } from './batch-items.ts';
import { BATCH_FORM_BYTES } from './batch-items-form.ts';

/** The fields of an operation and its items. @param keeps a note that says which items an existing schedule keeps. */
export function BatchItemsFields({ keeps }: { keeps?: string | undefined }): VNode {
  return (
    <fieldset>
      <legend>Operation and items</legend>
      {keeps && <p class="hint">{keeps}</p>}
      <div class="fields">
        <OperationChoice operations={QUEUED} preset="market.product" />
        <Choice name="layout" label="Format" options={Object.entries(LAYOUTS)} />
        <div class="whole">
          <TextArea
            name="items"
            label="Items"
            rows={8}
            placeholder={'B0C3CDEF01\nB0C3CDEF02'}
            hint={`Up to ${BATCH_FORM_BYTES / 1024} KiB. The API accepts up to 100,000 items.`}
          />
        </div>
        <TextArea
          name="params"
          label="Parameters for all items"
          preset="domain=1"
          rows={3}
          hint="One name=value per line."
        />
        <Field
          name="parameter"
          label="List parameter"
          placeholder="asins"
          hint="Default: the parameter that the operation requires, such as asins, term or keyword."
        />
      </div>
    </fieldset>
  );
}
