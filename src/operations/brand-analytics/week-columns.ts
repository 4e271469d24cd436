import { columnsFrom } from '../tables/columns.ts';

/** What most operations on the weekly reports have in common. */
export const OF_REPORTS = {
  toolset: 'aba',
  price: { text: '1', quote: () => 1 },
  pools: ['keywords'],
} as const;

export const COUNTRY_COLUMN = columnsFrom({ country: ['text', 'Site code, such as us'] });

/** The first columns of a table of a week. */
export const WEEK_COLUMNS = [
  ...COUNTRY_COLUMN,
  ...columnsFrom({ reportDate: ['date', 'Saturday of the week'] }),
];

/** The columns of the three most-clicked products. */
export const CLICKED_COLUMNS = columnsFrom({
  asin1: ['text', 'The most-clicked product'],
  asin2: ['text', 'The second most-clicked product'],
  asin3: ['text', 'The third most-clicked product'],
});

/** The columns of a search term. */
export const WORD_COLUMNS = columnsFrom({
  wordId: ['integer', 'Id of the search term'],
  keyword: ['text', 'Search term'],
});
