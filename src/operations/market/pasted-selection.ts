import { callerJsonFault } from '../../platform/caller-json.ts';
import { parseJson } from '../../platform/json.ts';
import { DOMAIN_NAMES, type Domain, SITES, siteIn } from '../params/domain.ts';
import { isRecord } from '../params/request.ts';
import { currencyDigits } from '../products/history.ts';
import { isFlag, isTextList, metricField } from './finder-fields.ts';

/** Parameters of the finder, or a fault of one of them. */
type Pasted = { selection: Record<string, unknown> } | PastedFault;

interface PastedFault {
  /** The field of the pasted query; null: all of it. */
  field: string | null;
  problem: string;
}

const WANTED =
  "must be a query of the provider's finder: its JSON, the address that it shows for programs, or the address of its page";

/**
 * Reads a query of the provider's finder as it is pasted: the JSON of a selection, an address of its API with `selection`, or the
 * address of its page, whose text after `#!finder/` is the state of a grid. The key in an address of the API is not read.
 * @param given the parameters alongside, which may name the site: prices of the page are in its currency.
 */
export function pastedSelection(text: string, given: Readonly<Record<string, unknown>>): Pasted {
  const pasted = text.trim();
  if (pasted.startsWith('{')) return fromJson(pasted, given);
  const [, encoded] = /^[^#]*#!?finder\/(.+)$/s.exec(pasted) ?? [];
  if (encoded !== undefined) {
    const decoded = decodedText(encoded);
    return decoded === null ? fault('is not a valid address') : fromJson(decoded, given);
  }
  if (!URL.canParse(pasted)) return fault(WANTED);
  const query = new URL(pasted).searchParams;
  const selection = query.get('selection');
  if (selection === null) return fault(`${WANTED}; this address has no selection`);
  const read = fromJson(selection, given);
  if (!('selection' in read)) return read;
  const [own, other] = [query.get('domain'), siteOf(given)];
  if (own !== null && other !== null && own !== String(other)) return fault(otherSite(own, other));
  const named = ['domain', 'stats'].filter((name) => query.has(name));
  return {
    selection: { ...Object.fromEntries(named.map((name) => [name, query.get(name)])), ...read.selection },
  };
}

/** Returns the problem of a query for another site than that of the call. */
export function otherSite(own: string | Domain, other: Domain): string {
  return `is a query for the site ${own}, but the call is for ${other} (${SITES[other]})`;
}

/** Returns the site that parameters name; null without one, and for one that is refused later. */
export function siteOf(given: Readonly<Record<string, unknown>>): Domain | null {
  const names = DOMAIN_NAMES.filter((name) => given[name] !== undefined);
  const site = siteIn(Object.fromEntries(names.map((name) => [name, given[name]])));
  return typeof site === 'number' ? site : null;
}

function fault(problem: string, field: string | null = null): PastedFault {
  return { field, problem };
}

function decodedText(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function fromJson(text: string, given: Readonly<Record<string, unknown>>): Pasted {
  const tooLarge = callerJsonFault(text);
  if (tooLarge !== null) return fault(tooLarge.problem);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return fault('is not valid JSON');
  }
  if (!isRecord(value)) return fault(WANTED);
  return isRecord(value.f) ? fromGrid(value, given) : { selection: value };
}

/** A filter of a column of the page. */
interface GridFilter {
  filterType?: unknown;
  type?: unknown;
  filter?: unknown;
  filterTo?: unknown;
  values?: unknown;
}

/** Converts the state of the page's grid: `f` has its filters by column, `s` its order. Other parts concern the display. */
function fromGrid(grid: Record<string, unknown>, given: Readonly<Record<string, unknown>>): Pasted {
  const site = siteOf(given);
  const digits = site === null ? 2 : currencyDigits(site);
  const selection: Record<string, unknown> = {};
  for (const [column, filter] of Object.entries(grid.f as Record<string, unknown>)) {
    const read = isRecord(filter) ? fromFilter(column, filter, digits) : null;
    if (read === null) {
      const problem =
        'cannot be converted from the address of the page; paste the query that the page shows for programs';
      return fault(problem, column);
    }
    Object.assign(selection, read);
  }
  const order = Array.isArray(grid.s) ? (grid.s as unknown[]) : [];
  const sort = order
    .filter(isRecord)
    .map(({ colId, sort: direction }) => [fieldOf(String(colId)), direction]);
  return { selection: sort.length > 0 ? { ...selection, sort } : selection };
}

/** The page writes `SALES_current` for `current_SALES`. */
function fieldOf(column: string): string {
  const at = column.lastIndexOf('_');
  return metricField(column.slice(at + 1), column.slice(0, at)) ?? column;
}

/** Returns the fields of a filter; null if their meaning is not known. */
function fromFilter(column: string, filter: GridFilter, digits: number): Record<string, unknown> | null {
  const field = fieldOf(column);
  const { filterType, type, filter: value } = filter;
  // The page writes a choice of yes or no as a number.
  if (isFlag(field)) return { [field]: value };
  if (filterType === 'number') return fromRange(field, filter, digits);
  if (filterType === 'set' && Array.isArray(filter.values)) return { [field]: filter.values };
  if (typeof value !== 'string') return null;
  const values = value.split('###');
  const isExcluded = type === 'isNoneOf';
  if (field === 'categories') return { [isExcluded ? 'categories_exclude' : 'categories_include']: values };
  if (isExcluded) return isTextList(field) ? { [field]: values.map((one) => `${EXCLUDES}${one}`) } : null;
  if (type === 'isOneOf') return { [field]: values };
  return type === 'equals' || type === 'contains' ? { [field]: value } : null;
}

/** A text that begins with this sign excludes it. */
const EXCLUDES = '\u271c';

function fromRange(field: string, filter: GridFilter, digits: number): Record<string, unknown> | null {
  const scale = scaleOf(field, digits);
  const [low, high] = [filter.filter, filter.filterTo];
  if (scale === null || typeof low !== 'number') return null;
  const from = { [`${field}_gte`]: scale(low) };
  const to = (bound: number) => ({ [`${field}_lte`]: scale(bound) });
  switch (filter.type) {
    case 'greaterThanOrEqual':
      return from;
    case 'lessThanOrEqual':
      return to(low);
    case 'equals':
      return { ...from, ...to(low) };
    case 'inRange':
      return typeof high === 'number' ? { ...from, ...to(high) } : null;
    default:
      return null;
  }
}

/** Amounts of money, and metrics whose type may be one of NO_PRICE. */
const PRICE =
  /^(?:(?:current|avg\d+|delta\d+|deltaLast)_\w+|fbaFees|coupon(?:OneTime|SNS)Absolute|buyBoxStandardDeviation\d+)$/;
const NO_PRICE = /_(?:SALES|COUNT_\w+|RATING)$/;
const HIGHEST_RATING = 5;

/** Times, which the page does not show as numbers, and lengths, which it shows in another unit. */
const UNKNOWN =
  /^lastPriceChange|^last\w+Update$|^(?:next|tracking|listed|lightning|publication|release)[A-Z]|^(?:package|item)(?:Height|Length|Width|Dimension)$/;

/**
 * Returns a function that converts a number of the page to the one of a selection: prices from units of the currency.
 * Null if the number of the page is not known.
 */
function scaleOf(field: string, digits: number): ((value: number) => number) | null {
  if (UNKNOWN.test(field)) return null;
  if (/^(?:current|avg\d+)_RATING$/.test(field))
    return (value) => (value <= HIGHEST_RATING ? Math.round(value * 10) : value);
  const isPrice = PRICE.test(field) && !NO_PRICE.test(field);
  return isPrice ? (value) => Math.round(value * 10 ** digits) : (value) => value;
}
