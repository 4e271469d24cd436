import type { VNode } from 'preact';
import { z } from 'zod';
import { Field, FilterForm } from '../kit/form.tsx';
import type { FormValues } from '../kit/form-request.ts';

/** Reads the search text, and the item after which the page starts. */
export function readSearch(
  asked: unknown,
  maxLength: number,
): { q: string; before: number | null; query: FormValues } {
  const search = z.object({
    q: z.string().trim().max(maxLength).catch(''),
    before: z.coerce.number().int().positive().safe().nullable().catch(null),
  });
  const { q, before } = search.parse(asked);
  return { q, before, query: { q, before: before === null ? undefined : String(before) } };
}

/** The search form of a list. The link `All` clears the search. */
export function SearchForm(props: {
  path: string;
  label: string;
  q: string;
  maxLength: number;
  placeholder: string;
}): VNode {
  const { path, q, ...field } = props;
  const all = q && (
    <a class="button" href={path}>
      All
    </a>
  );
  return (
    <FilterForm path={path} values={{ q }} button="Search" links={all}>
      <Field name="q" {...field} />
    </FilterForm>
  );
}
