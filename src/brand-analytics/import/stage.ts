import {
  normaliseTerm,
  type ReportSite,
  tokensOf,
  wordingOf,
} from '../../operations/brand-analytics/keywords.ts';
import { addSumTags } from '../row-tags.ts';
import { screenBits } from '../screen-columns.ts';
import { BinaryRows } from './copy.ts';
import { type AskNames, type Names, openNames } from './dictionary.ts';
import { createTitles, type ReportBatch, ReportError, type ReportRow } from './report.ts';
import { Ranking } from './save-week.ts';

/** A batch in COPY's binary format, for the staging table and the table of titles. */
interface StagedBatch {
  rows: Uint8Array<ArrayBuffer>;
  titles: Uint8Array<ArrayBuffer>;
}

/** Checks batches and converts them to COPY's format, one after the other. It uses the database only for ids of names. */
export function openStaging(site: ReportSite, ask: AskNames) {
  const names = openNames(ask);
  const ranking = new Ranking();
  const staging = createStaging(site, names, ranking);
  const titles = createTitles();
  const rowLines = new BinaryRows();
  const titleLines = new BinaryRows();
  return {
    ranking,
    /** @throws ReportError for the first row with a fault. */
    async stage(rows: ReportBatch): Promise<StagedBatch> {
      await names.learn(rows);
      for (const row of rows) staging.write(row, rowLines);
      titles.write(rows, titleLines);
      return { rows: rowLines.take(), titles: titleLines.take() };
    },
  };
}

/** A row whose term has no id yet. The tags after its six labels are the tokens of the term. */
export const STAGE_COLUMNS = `at integer, department smallint, rank integer, term text collate "C",
  asin1 bigint, asin2 bigint, asin3 bigint,
  click1 smallint, click2 smallint, click3 smallint, conv1 smallint, conv2 smallint, conv3 smallint,
  words text collate "C", bits1 integer, bits2 integer, tokens smallint, tags integer[]`;

const COLUMNS = 18;

const PLACES = [0, 1, 2] as const;

/** Checks rows one by one, and writes them for COPY. */
function createStaging(site: ReportSite, names: Names, ranking: Ranking) {
  return {
    write(row: ReportRow, rows: BinaryRows): void {
      const term = normaliseTerm(row.term);
      if (term === '') throw new ReportError(`Row ${row.at}: the search term is blank.`);
      if (term.length > LONGEST_TERM)
        throw new ReportError(
          `Row ${row.at}: the search term has ${term.length} characters; the limit is ${LONGEST_TERM}.`,
        );
      const { products, brands, categories } = row;
      rows.begin(COLUMNS);
      rows.int4(row.at);
      const department = names.idOf('department', row.department);
      ranking.follow(department, row);
      rows.int2(department);
      rows.int4(row.rank);
      rows.text(term);
      let clicks = 0;
      let conversions = 0;
      for (const place of PLACES) rows.int8(products[place]?.asin ?? 0);
      for (const place of PLACES) {
        const share = products[place]?.click ?? -1;
        clicks += Math.max(0, share);
        rows.int2(share);
      }
      for (const place of PLACES) {
        const share = products[place]?.conversion ?? -1;
        conversions += Math.max(0, share);
        rows.int2(share);
      }
      rows.text(wordingOf(term, site));
      const tokens = tokensOf(term, site);
      for (const bits of screenBits(tokens)) rows.int4(bits);
      const tags: number[] = [];
      // The first six tags are labels, identified by their position.
      for (const place of PLACES) tags.push(names.idOf('brand', brands[place] ?? ''));
      for (const place of PLACES) tags.push(names.idOf('category', categories[place] ?? ''));
      for (const token of tokens) tags.push(token);
      addSumTags(tags, clicks, conversions);
      rows.int2(tokens.length);
      rows.int4s(tags);
    },
  };
}

/** Longer texts are not search terms. An index accepts at most 2,700 bytes. */
const LONGEST_TERM = 600;
