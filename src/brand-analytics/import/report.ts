/** A product that was clicked after a search. */
export interface ReportProduct {
  /** As asinToNumber gives it. */
  asin: number;
  /** '' where the report has none. */
  title: string;
  /** Hundredths of a percent; -1 is blank. */
  click: number;
  conversion: number;
}

/** One search term of a report, whatever the format of the file. */
export interface ReportRow {
  /** Where in the file: a line of a CSV, an entry of a JSON document. */
  at: number;
  /** A week holds one ranking; reports of other departments are left out. */
  department: string;
  rank: number;
  term: string;
  /** Up to three, by place. A place nobody holds is undefined. */
  products: (ReportProduct | undefined)[];
  /** Three each; '' where blank. None in reports of the API. */
  brands: readonly string[];
  categories: readonly string[];
}

/** Rows that follow each other in the file. */
export interface ReportBatch {
  rows: ReportRow[];
  /** The reporting date of all of them, and where the first is; null where rows have none. */
  dated: { date: string; at: number } | null;
  /** What is wrong with the row behind them. */
  fault: string | null;
}

/** A batch as COPY takes it, checked as far as its rows tell. */
export interface StagedPiece extends Pick<ReportBatch, 'dated' | 'fault'> {
  count: number;
  /** Rows of the staging table, and of that of titles, in COPY's binary format. */
  rows: Uint8Array<ArrayBuffer>;
  titles: Uint8Array<ArrayBuffer>;
  ranks: RankSpan[];
}

/** Ranks of a department in a batch. */
export interface RankSpan {
  department: number;
  first: number;
  /** Where the first is in the file. */
  at: number;
  last: number;
  rows: number;
}

/** A report being read. */
export interface Report {
  source: 'api' | 'csv';
  /** In the order of the file, some thousand rows each. @throws ReportError when the file is broken. */
  pieces: AsyncIterable<StagedPiece>;
  /** What the file says of itself; complete only when all batches have been read. */
  facts(): { week: string | null; marketplaceIds: readonly string[] };
}

/** A share in percent, with at most two decimals, as hundredths. -1 is blank, null no share. */
export function shareOf(text: string): number | null {
  if (text === '') return -1;
  // Nearly all are like 12.34, and a week has six a row: read digit by digit.
  let digits = 0;
  let decimals = -1;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code >= DIGIT_0 && code <= DIGIT_0 + 9) {
      digits = digits * 10 + code - DIGIT_0;
      if (decimals >= 0) decimals += 1;
    } else if (code === POINT && i > 0 && decimals < 0) decimals = 0;
    else return unusualShareOf(text);
  }
  if (decimals === 0 || decimals > 2 || text.length > LONGEST_USUAL) return unusualShareOf(text);
  const hundredths = decimals === 2 ? digits : decimals === 1 ? digits * 10 : digits * 100;
  return hundredths <= 10_000 ? hundredths : null;
}

const DIGIT_0 = 48;
const POINT = 46;
const LONGEST_USUAL = '100.00'.length;

function unusualShareOf(text: string): number | null {
  if (!PERCENT.test(text)) return null;
  const hundredths = Math.round(Number(text.replace(',', '.').replace('%', '')) * 100);
  return hundredths <= 10_000 ? hundredths : null;
}

const PERCENT = /^\d{1,3}(?:[.,]\d+)?\s?%?$/;
