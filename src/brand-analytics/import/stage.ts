import { asinToNumber } from '../../keywords/asin-number.ts';
import { sumTags } from '../../keywords/row-tags.ts';
import type { ReportSite } from '../../keywords/sites.ts';
import { normaliseTerm } from '../../keywords/term.ts';
import { tokensOf } from '../../keywords/tokens.ts';
import { copyText } from './copy.ts';
import type { LabelKind, Labels } from './labels.ts';
import type { ReportRow } from './report.ts';
import { ReportError } from './report-error.ts';

/** What a row is before its term has an id. */
export const STAGE_COLUMNS = `at integer, department smallint, rank integer, term text collate "C",
  asin1 bigint, asin2 bigint, asin3 bigint,
  click1 smallint, click2 smallint, click3 smallint, conv1 smallint, conv2 smallint, conv3 smallint,
  tokens integer[], tags integer[]`;

const PLACES = [0, 1, 2] as const;

/** Names of brands and categories in some rows. */
export function labelsIn(rows: readonly ReportRow[]): Map<LabelKind, Set<string>> {
  const brand = new Set<string>();
  const category = new Set<string>();
  for (const row of rows) {
    for (const name of row.brands) if (name !== '') brand.add(name);
    for (const name of row.categories) if (name !== '') category.add(name);
  }
  return new Map([
    ['brand', brand],
    ['category', category],
  ]);
}

/** Checks rows as they come, and writes each as a line for COPY. */
export function createStaging(site: ReportSite, labels: Labels) {
  /** By name: number, and the rank of the row before. */
  const departments = new Map<string, { number: number; lastRank: number }>();

  function departmentOf({ department, rank, at }: ReportRow): number {
    let found = departments.get(department);
    if (!found) {
      found = { number: departments.size, lastRank: 0 };
      departments.set(department, found);
    }
    if (rank < found.lastRank)
      throw new ReportError(`Row ${at}: rank ${rank} comes after rank ${found.lastRank}.`);
    found.lastRank = rank;
    return found.number;
  }

  return {
    lineOf(row: ReportRow): string {
      const term = normaliseTerm(row.term);
      if (term === '') throw new ReportError(`Row ${row.at}: the search term is blank.`);
      if (term.length > LONGEST_TERM)
        throw new ReportError(`Row ${row.at}: the search term has ${term.length} characters.`);
      const { products, brands, categories } = row;
      let clicks = 0;
      let conversions = 0;
      let asins = '';
      let clickShares = '';
      let conversionShares = '';
      for (const place of PLACES) {
        const { asin, click = -1, conversion = -1 } = products[place] ?? {};
        asins += `${asin === undefined ? 0 : asinToNumber(asin)}\t`;
        clickShares += `${click}\t`;
        conversionShares += `${conversion}\t`;
        clicks += Math.max(0, click);
        conversions += Math.max(0, conversion);
      }
      const tokens = tokensOf(term, site).join(',');
      let tags = '';
      for (const place of PLACES) tags += `${labels.idOf('brand', brands[place] ?? '')},`;
      for (const place of PLACES) tags += `${labels.idOf('category', categories[place] ?? '')},`;
      const more = sumTags(clicks, conversions).join(',');
      // The first six are told by their place. Whatever else there is, the row has no empty tag at its end.
      tags = tags.slice(0, -1) + (tokens && `,${tokens}`) + (more && `,${more}`);
      return `${row.at}\t${departmentOf(row)}\t${row.rank}\t${copyText(term)}\t${asins}${clickShares}${conversionShares}{${tokens}}\t{${tags}}\n`;
    },
  };
}

/** Longer ones are no search terms; an index takes no text of more than 2,700 bytes. */
const LONGEST_TERM = 600;
