import type { Dice } from './dice.ts';

/** A request of a client. */
export interface SoakRequest {
  path: string;
  /** The operation, and the parameters in one order: equal for requests that are the same call. */
  asked: string;
  operation: string;
  params: Record<string, string>;
}

const ASINS = Array.from({ length: 60 }, (_, i) => `B0SOAK${String(i).padStart(4, '0')}`);

const TERMS = ['lamp', 'kettle', 'chair', 'tent'];

/** Returns a random call from a small set, so that many calls share sources and some are identical. */
export function randomRequest(dice: Dice): SoakRequest {
  const choice = dice.fraction();
  if (choice < 0.75) {
    // A job for many products runs in the thread of large jobs.
    const count = dice.fraction() < 0.05 ? dice.integer(11, 20) : dice.integer(1, 6);
    const asins = dice.shuffle(ASINS).slice(0, count).sort().join(',');
    // A call with another freshness threshold is another call, which the cache may answer.
    const freshness = dice.fraction() < 0.7 ? { update: String(dice.integer(0, 40)) } : {};
    const domain = dice.fraction() < 0.2 ? '3' : '1';
    return requestOf('product', { domain, asins, detailLevel: dice.pick(['summary', 'lite']), ...freshness });
  }
  if (choice < 0.9)
    return requestOf('variations', { domain: '1', asin: dice.pick(ASINS), detailLevel: 'summary' });
  return requestOf('productsearch', {
    domain: '1',
    term: dice.pick(TERMS),
    page: String(dice.integer(0, 9)),
    asinsOnly: '1',
  });
}

/** The highest age, in hours, that a popular call accepts. Any answer in the cache is younger. */
const AGES = { least: 1_000, most: 9_999 };

/** Returns a call that the cache can answer. Calls of different ages are different calls, so most of them are charged. */
export function popularRequest(dice: Dice): SoakRequest {
  const update = String(dice.integer(AGES.least, AGES.most));
  return dice.fraction() < 0.5
    ? requestOf('product', { domain: '1', asins: dice.pick(ASINS), detailLevel: 'summary', update })
    : requestOf('productsearch', { domain: '1', term: dice.pick(TERMS), asinsOnly: '1', update });
}

function requestOf(name: string, params: Record<string, string>): SoakRequest {
  const operation = `market.${name}`;
  const query = new URLSearchParams(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1))).toString();
  return { path: `/api/market/${name}?${query}`, asked: `${operation}?${query}`, operation, params };
}
