import { JSONParser } from '@streamparser/json';
import { asinToNumber } from '../asin-number.ts';
import { decode } from './decode.ts';
import type { JsonPiece } from './json-pieces.ts';
import type { ReportBatch, ReportProduct, ReportRow } from './report.ts';
import { ReportError } from './report-error.ts';

/** One product of one term; up to three follow each other. */
interface Entry {
  departmentName: string;
  searchTerm: string;
  searchFrequencyRank: number;
  clickedAsin: string;
  clickedItemName?: unknown;
  clickShareRank: number;
  clickShare: number;
  conversionShare?: number | null;
}

/** Places beyond the third are left out. */
const PLACES = 3;

/** The rows of a piece, up to the first entry that is none. Entries about one term are put together to one row. */
export function readJsonPiece(piece: JsonPiece): ReportBatch {
  const rows: ReportRow[] = [];
  try {
    let open: ReportRow | undefined;
    let number = piece.entry;
    for (const value of entriesOf(piece)) {
      const entry = checkEntry(value, number);
      const { departmentName: department, searchTerm: term, searchFrequencyRank: rank } = entry;
      if (!open || open.term !== term || open.department !== department || open.rank !== rank) {
        open = { at: number, department, term, rank, brands: [], categories: [], products: [] };
        rows.push(open);
      }
      const place = entry.clickShareRank - 1;
      if (open.products[place])
        throw badEntry(number, `place ${entry.clickShareRank} of "${term}" is taken already`);
      if (place < PLACES) open.products[place] = productOf(entry);
      number += 1;
    }
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    return { rows, dated: null, fault: error.message };
  }
  return { rows, dated: null, fault: null };
}

function entriesOf({ bytes, entry }: JsonPiece): unknown[] {
  try {
    // What is no text is no JSON either.
    return JSON.parse(decode(bytes) ?? '') as unknown[];
  } catch {
    throw new ReportError(`After entry ${entry - 1 + goodEntries(bytes)}: this is not JSON.`);
  }
}

/** How many values an array has before it is no JSON any more, or no UTF-8. */
function goodEntries(bytes: Uint8Array): number {
  let count = 0;
  const parser = new JSONParser({ paths: ['$.*'], keepStack: false });
  parser.onValue = () => {
    count += 1;
  };
  parser.onError = () => {};
  parser.write(bytes);
  return count;
}

function productOf({ clickedAsin, clickedItemName, clickShare, conversionShare }: Entry): ReportProduct {
  return {
    asin: asinToNumber(clickedAsin),
    title: typeof clickedItemName === 'string' ? clickedItemName : '',
    click: hundredths(clickShare),
    conversion: typeof conversionShare === 'number' ? hundredths(conversionShare) : -1,
  };
}

/** Fractions have four decimals: hundredths of a percent lose nothing. */
const hundredths = (share: number) => Math.round(share * 10_000);

const isText = (value: unknown) => typeof value === 'string';
const isPlace = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 2e9;
const isAsin = (value: unknown) => typeof value === 'string' && /^[A-Z0-9]{10}$/.test(value);
const isFraction = (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1;

/** Twelve million entries come by, so they are looked at by hand. */
const FIELDS: [name: keyof Entry, isGood: (value: unknown) => boolean, what: string][] = [
  ['departmentName', isText, 'text'],
  ['searchTerm', isText, 'text'],
  ['searchFrequencyRank', isPlace, 'positive whole number'],
  ['clickShareRank', isPlace, 'positive whole number'],
  ['clickedAsin', isAsin, 'ASIN'],
  ['clickShare', isFraction, 'share from 0 to 1'],
  [
    'conversionShare',
    (value) => value === undefined || value === null || isFraction(value),
    'share from 0 to 1',
  ],
];

function checkEntry(value: unknown, number: number): Entry {
  if (typeof value !== 'object' || value === null) throw badEntry(number, 'it is no object');
  const entry = value as Entry;
  for (const [name, isGood, what] of FIELDS)
    if (!isGood(entry[name])) throw badEntry(number, `${name} ${shown(entry[name])} is no ${what}`);
  return entry;
}

function shown(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? 'of several values'
    : String(value).slice(0, MOST_SHOWN);
}

const MOST_SHOWN = 100;

function badEntry(number: number, reason: string): ReportError {
  return new ReportError(`Entry ${number}: ${reason}.`);
}
