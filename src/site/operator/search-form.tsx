import type { VNode } from 'preact';
import { Field } from '../kit/form.tsx';

/** Looks for `q` on the page it stands on; `All` leads back to everything. */
export function SearchForm(props: {
  path: string;
  label: string;
  q: string;
  maxLength: number;
  placeholder: string;
}): VNode {
  const { path, label, q, maxLength, placeholder } = props;
  return (
    <form class="filters" method="get" action={path}>
      <Field name="q" label={label} value={q} maxLength={maxLength} placeholder={placeholder} />
      <button type="submit">Search</button>
      {q && (
        <a class="button" href={path}>
          All
        </a>
      )}
    </form>
  );
}
