import { termIds } from '../../brand-analytics/word.ts';
import { type ReportSite, siteOfDomain } from '../../operations/brand-analytics/keywords.ts';
import type { QueuedOperation } from '../../operations/define.ts';
import { existingOperation } from '../../operations/index.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import type { Item } from '../bundle.ts';
import { BatchFaults } from '../upload-text.ts';
import type { Condition } from './condition.ts';
import type { Subjects } from './read-tracker.ts';
import { KEYWORD_FIELDS, PRODUCT_FIELDS } from './reading.ts';

/** What the schedule of a tracker asks for. */
export interface TrackedItems {
  operation: QueuedOperation;
  raws: readonly unknown[];
}

/** A product of a tracker, as a parameter of `market.product`. */
interface ProductItem {
  domain: number;
  asins: [string];
  buybox: boolean;
}

interface KeywordItem {
  wordId: number;
}

/**
 * Returns the items of the batches of a tracker. They ask for the fields that the conditions need, without the history.
 * Trackers that need the same options share their fetches.
 * @param reports connections to the weekly reports of the account.
 * @throws BatchFaults for keywords that no report has.
 */
export async function itemsOf(
  reports: Queryable,
  subjects: Subjects,
  conditions: readonly Condition[],
): Promise<TrackedItems> {
  if (subjects.kind === 'keywords') return keywordItems(reports, subjects);
  if (subjects.kind === 'screen')
    return { operation: existingOperation('research.screen'), raws: [subjects.screen] };
  return {
    operation: existingOperation('market.product'),
    raws: productItems(subjects.domain, subjects.asins, conditions),
  };
}

/** Returns the items of a changed tracker: the same products or keywords with the options that the conditions need. */
export function itemsAgain(
  { operation, raws }: TrackedItems,
  conditions: readonly Condition[],
): TrackedItems {
  if (operation.name !== 'market.product') return { operation, raws };
  const items = raws as readonly ProductItem[];
  const domain = items[0]?.domain ?? 1;
  return {
    operation,
    raws: productItems(
      domain,
      items.map(({ asins: [asin] }) => asin),
      conditions,
    ),
  };
}

/**
 * Returns the items with their inputs. They differ in the product or the keyword only, so one of them is parsed for all:
 * parsing 10,000 would take a second.
 */
export function inputsOf({ operation, raws }: TrackedItems): Item[] {
  const input = operation.params.parse(raws[0]) as object;
  if (operation.name === 'research.screen') return [{ raw: raws[0], input }];
  return raws.map((raw) => {
    const { asins, wordId } = raw as Partial<ProductItem & KeywordItem>;
    return { raw, input: { ...input, ...(asins ? { asins } : { wordId }) } };
  });
}

/** Returns what identifies an item among those of its tracker: the ASIN, or the id of the search term. */
export function itemName(raw: unknown): string {
  const { asins, wordId } = raw as Partial<ProductItem & KeywordItem>;
  return asins ? asins[0] : String(wordId);
}

/**
 * Returns whether the result of an item can say something about a condition. A check that began before the tracker changed
 * may have asked about another site, or without the Buy Box.
 */
export function isAnswered(raw: unknown, domain: number, condition: Condition): boolean {
  const { domain: asked = domain, buybox = true } = raw as Partial<ProductItem>;
  return asked === domain && (buybox || !needsBuyBox(condition));
}

function needsBuyBox({ type, price }: Condition): boolean {
  return type === 'buy_box_owner' || price === 'buyBox';
}

function productItems(domain: number, asins: readonly string[], conditions: readonly Condition[]) {
  const options = {
    history: false,
    rating: conditions.some(({ type }) => type === 'rating_below'),
    buybox: conditions.some(needsBuyBox),
    fields: PRODUCT_FIELDS,
  };
  return asins.map((asin) => ({ domain, asins: [asin], ...options }));
}

async function keywordItems(
  reports: Queryable,
  { domain, terms }: Extract<Subjects, { kind: 'keywords' }>,
): Promise<TrackedItems> {
  const ids = await termIds(reports, siteOfDomain(domain) as ReportSite, terms);
  const unknown = terms.flatMap((term, index) => (ids.has(term) ? [] : [{ index, term }]));
  if (unknown.length > 0)
    throw new BatchFaults(
      unknown.map(({ index, term }) => ({
        parameter: `keywords.${index}`,
        problem: `must be a search term of the loaded reports, got ${JSON.stringify(term)}`,
      })),
    );
  return {
    operation: existingOperation('aba.word'),
    raws: terms.map((term) => ({ wordId: ids.get(term), fields: KEYWORD_FIELDS })),
  };
}
