import { searchTerms } from '../../../src/brand-analytics/search.ts';
import { keywordSearch } from '../../../src/operations/brand-analytics/search.ts';
import { fromReports } from './from-reports.ts';

export const handleKeywordSearch = fromReports(keywordSearch, async (input, { database, weeks }) => {
  const { country, keyword, limit } = input;
  const items = await searchTerms(database, country, weeks, { keyword, limit });
  return { country, keyword, items, count: items.length };
});
