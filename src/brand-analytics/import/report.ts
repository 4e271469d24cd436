/** A product that was clicked after a search. */
export interface ReportProduct {
  /** In the form that asinToNumber returns. */
  asin: number;
  /** '' if the report has none. */
  title: string;
  /** Hundredths of a percent; -1 is blank. */
  click: number;
  conversion: number;
}

/** A search term of a report, independent of the file's format. */
export interface ReportRow {
  /** Position in the file: a line of a CSV, an entry of a JSON document. */
  at: number;
  /** A week contains one ranking, so rows of other departments are left out. */
  department: string;
  rank: number;
  term: string;
  /** Up to three, by place. A place without a product is undefined. */
  products: (ReportProduct | undefined)[];
  /** Three each; '' if blank. Reports of the API have none. */
  brands: readonly string[];
  categories: readonly string[];
}

/** Consecutive rows of a file. */
export type ReportBatch = ReportRow[];

/** A report that is being read. */
export interface Report {
  source: 'api' | 'csv';
  /** In the order of the file, with some hundred rows each. @throws ReportError after the rows before the fault. */
  batches: AsyncIterable<ReportBatch>;
  /** Facts in the file; complete only after all batches have been read. */
  facts(): { week: string | null; marketplaceIds: readonly string[] };
}

/**
 * Reads a share in percent, with at most two decimals, as hundredths. Returns -1 if it is blank, null if it is not
 * a share.
 */
export function shareOf(text: string): number | null {
  if (text === '') return -1;
  // Most shares look like 12.34, and each row of a week has six, so these are read digit by digit.
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
