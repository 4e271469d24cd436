import type { VNode } from 'preact';
import { QUEUED } from '../../../operations/index.ts';
import { Choice, Field, TextArea } from '../../kit/form.tsx';
import { OperationChoice } from '../operation-choice.tsx';
import { LAYOUTS } from './work.ts';
import { WORK_FORM_BYTES } from './work-form.ts';

/** An operation, and its items as text. @param keeps said of a schedule that has items already. */
export function WorkFields({ keeps }: { keeps?: string | undefined }): VNode {
  return (
    <fieldset>
      <legend>What is done</legend>
      {keeps && <p class="hint">{keeps}</p>}
      <div class="fields">
        <OperationChoice operations={QUEUED} preset="market.product" />
        <Choice name="layout" label="Written as" options={Object.entries(LAYOUTS)} />
        <div class="whole">
          <TextArea
            name="items"
            label="Items"
            rows={8}
            placeholder={'B0C3CDEF01\nB0C3CDEF02'}
            hint={`Up to ${WORK_FORM_BYTES / 1024} KiB here; by the interface, a hundred thousand items.`}
          />
        </div>
        <TextArea
          name="params"
          label="Parameters of all items"
          preset="domain=1"
          rows={3}
          hint="A name=value a line."
        />
        <Field
          name="parameter"
          label="Parameter the list is of"
          placeholder="asins"
          hint="Left empty: what the operation needs, such as asins, term or keyword."
        />
      </div>
    </fieldset>
  );
}
