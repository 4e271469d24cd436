import type { VNode } from 'preact';
import { SITES } from '../../../operations/params/domain.ts';
import { Choice, Field, PostForm } from '../../kit/form.tsx';
import type { FormState } from '../../kit/form-request.ts';

const RANGES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
] as const;

/** The form that requests a chart of a product's prices. */
export function PictureForm({ form }: { form: FormState }): VNode {
  return (
    <section class="card" aria-labelledby="price-history">
      <h2 id="price-history">Price history of a product</h2>
      <PostForm action="/account/try/picture" form={form} class="filters">
        <Field name="asin" label="ASIN" required placeholder="B08N5WRWNX" maxLength={20} />
        <Choice name="domain" label="Site" options={Object.entries(SITES)} />
        <Choice name="range" label="Period" preset="90" options={RANGES} />
        <button type="submit" class="primary">
          Draw the chart (1 unit)
        </button>
      </PostForm>
    </section>
  );
}
