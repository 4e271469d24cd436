import type { VNode } from 'preact';
import { Field } from '../kit/form.tsx';

/** The field for the window of an off-peak pack that has hours of its own. */
export function OwnWindow(): VNode {
  return (
    <Field
      name="window"
      label="Window"
      maxLength={80}
      hint="Only for off-peak packs, such as 22:00-06:00 Europe/Berlin. Empty: the off-peak window of the service."
    />
  );
}
