import type { VNode } from 'preact';
import { SITES } from '../../../operations/params/domain.ts';
import { Choice, Field, FormFault, type FormFaults, type FormValues, PostForm } from '../../kit/form.tsx';

const RANGES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', 'A year'],
] as const;

/** Asks for the picture of a product's prices. */
export function PictureForm(props: { csrf: string; values: FormValues; faults: FormFaults }): VNode {
  const { csrf, values, faults } = props;
  return (
    <section class="card" aria-labelledby="price-history">
      <h2 id="price-history">Price history of a product</h2>
      <PostForm action="/account/try/picture" csrf={csrf} class="filters">
        <FormFault faults={faults} />
        <Field
          name="asin"
          label="ASIN"
          required
          value={values.asin}
          fault={faults.asin}
          placeholder="B08N5WRWNX"
          maxLength={20}
        />
        <Choice
          name="domain"
          label="Site"
          value={values.domain}
          fault={faults.domain}
          options={Object.entries(SITES)}
        />
        <Choice
          name="range"
          label="Time"
          value={values.range ?? '90'}
          fault={faults.range}
          options={RANGES}
        />
        <button type="submit" class="primary">
          Draw it, for 1 unit
        </button>
      </PostForm>
    </section>
  );
}
