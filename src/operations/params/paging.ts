import { integer } from './scalars.ts';

/** The requested page of a long list; without either field the full list. */
export interface Paging {
  page?: number | undefined;
  perPage?: number | undefined;
}

export interface Pagination {
  page: number;
  perPage: number;
  total: number;
  totalPages: number;
}

const DEFAULT_PER_PAGE = 1000;
const LARGEST_PER_PAGE = 10_000;

/** The paging parameters of lists that are returned in full by default. */
export function paging() {
  return {
    page: integer({ min: 0 }).optional().describe('Page, from 0; enables paging'),
    perPage: integer({ min: 1, max: LARGEST_PER_PAGE })
      .optional()
      .describe(`Entries per page, default ${DEFAULT_PER_PAGE}; enables paging`),
  };
}

/** Fills in the missing one of the two fields, so that equal pages are the same call. */
export function completePaging<Input extends Paging>(input: Input): Input {
  if (input.page === undefined && input.perPage === undefined) return input;
  return { ...input, page: input.page ?? 0, perPage: input.perPage ?? DEFAULT_PER_PAGE };
}

/** Returns the requested page's range in lists of this length; null when the full list was requested. */
export function pageOf(total: number, { page, perPage }: Paging) {
  if (page === undefined || perPage === undefined) return null;
  const pagination: Pagination = { page, perPage, total, totalPages: Math.ceil(total / perPage) };
  return {
    pagination,
    cut: <Entry>(list: readonly Entry[]): Entry[] => list.slice(page * perPage, (page + 1) * perPage),
  };
}
