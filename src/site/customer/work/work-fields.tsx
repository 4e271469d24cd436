import type { VNode } from 'preact';
import { QUEUED } from '../../../operations/index.ts';
import { Choice, Field, type FormFaults, type FormValues, TextArea } from '../../kit/form.tsx';
import { OperationChoice } from '../operation-choice.tsx';
import { LAYOUTS } from './work.ts';

/** What such a form may hold: some ten thousand ASINs. */
export const WORK_FORM_BYTES = 512 * 1024;

/** What is to be done: an operation, and its items as text. */
export function WorkFields(props: {
  values: FormValues;
  faults: FormFaults;
  /** Said of a schedule that has items already. */
  keeps?: string;
}): VNode {
  const { values, faults, keeps } = props;
  return (
    <fieldset>
      <legend>What is done</legend>
      {keeps && <p class="hint">{keeps}</p>}
      <div class="fields">
        <OperationChoice
          operations={QUEUED}
          value={values.operation ?? 'market.product'}
          fault={faults.operation}
        />
        <Choice
          name="layout"
          label="Written as"
          value={values.layout}
          options={Object.entries(LAYOUTS)}
          fault={faults.layout}
        />
        <div class="whole">
          <TextArea
            name="items"
            label="Items"
            value={values.items}
            fault={faults.items}
            rows={8}
            placeholder={'B0C3CDEF01\nB0C3CDEF02'}
            hint={`Up to ${WORK_FORM_BYTES / 1024} KiB here; by the interface, a hundred thousand items.`}
          />
        </div>
        <TextArea
          name="params"
          label="Parameters of all items"
          value={values.params ?? 'domain=1'}
          fault={faults.params}
          rows={3}
          hint="A name=value a line."
        />
        <Field
          name="parameter"
          label="Parameter the list is of"
          value={values.parameter}
          fault={faults.parameter}
          placeholder="asins"
          hint="Left empty: what the operation needs, such as asins, term or keyword."
        />
      </div>
    </fieldset>
  );
}
