import type { VNode } from 'preact';
import type { FormValues } from '../../../kit/form-request.ts';
import { addressOf } from '../../../kit/paging.tsx';
import { count } from '../../../kit/words.tsx';
import type { ShowContext } from '../view.ts';

export const ROWS_A_PAGE = 30;

/** One page of a list. */
export interface ListPart<Row> {
  rows: readonly Row[];
  /** From 0. */
  page: number;
  /** Number of rows of the whole list. */
  total: number;
}

/** The page of a list that the address names; the last one if the list is shorter. */
export function pageIn<Row>(rows: readonly Row[], { page = '0' }: FormValues): ListPart<Row> {
  const last = Math.max(0, Math.ceil(rows.length / ROWS_A_PAGE) - 1);
  const asked = /^\d{1,6}$/.test(page) ? Number(page) : 0;
  const shown = Math.min(asked, last);
  const from = shown * ROWS_A_PAGE;
  return { rows: rows.slice(from, from + ROWS_A_PAGE), page: shown, total: rows.length };
}

/** Links to the pages before and after; nothing if the list has one page. */
export function Pager(props: { page: ListPart<unknown>; context: ShowContext; id: string }): VNode | null {
  const { page: part, context, id } = props;
  const { rows, page, total } = part;
  if (total <= ROWS_A_PAGE) return null;
  const from = page * ROWS_A_PAGE;
  const address = (to: number) => `${addressOf(context.path, { ...context.query, page: String(to) })}#${id}`;
  return (
    <nav class="pages row" aria-label="Pages">
      <span class="muted">
        {count(from + 1)} to {count(from + rows.length)} of {count(total)}
      </span>
      {page > 0 && (
        <a class="button small" href={address(page - 1)}>
          Previous
        </a>
      )}
      {from + rows.length < total && (
        <a class="button small" href={address(page + 1)}>
          Next
        </a>
      )}
    </nav>
  );
}
