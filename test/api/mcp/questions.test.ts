import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect } from 'vitest';
import { type Agent, openAgent } from '../../support/mcp-client.ts';
import { loadKeywords } from '../../support/operation-samples.ts';
import { openSouk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';

// Ten questions as an agent answers them, by script, with the calls and tokens that they need.

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
type Data = any;

interface Question {
  question: string;
  calls: number;
  /** The tokens of all results, rounded up. */
  tokens: number;
  /** Asks, and returns the fact that answers the question. */
  ask(call: (tool: string, args: object) => Promise<Data>): Promise<unknown>;
}

const part = (data: Data, args: object) => ({ id: data._call.jobId, ...args });

const QUESTIONS: readonly Question[] = [
  {
    question: 'What does this product cost?',
    calls: 1,
    tokens: 400,
    ask: async (call) =>
      (await call('market_get_product', { domain: 1, asins: ['B0C3CDEF01'], stats: 90 })).products[0].asin,
  },
  {
    question: 'How did its price change?',
    calls: 1,
    tokens: 700,
    async ask(call) {
      const args = { domain: 1, asins: ['B0C3CDEF03'], points: 40, fields: 'asin,history.new' };
      const [first] = (await call('market_get_product', args)).products[0].history.new;
      return /^\d{4}-\d\d-\d\d$/.test(first[0]) && typeof first[1] === 'number';
    },
  },
  {
    question: 'Who sells it?',
    calls: 2,
    tokens: 1_300,
    async ask(call) {
      const args = { domain: 1, asins: ['B0C3CDEF03'], detailLevel: 'full', offers: 20 };
      const data = await call('market_get_product', args);
      const fields = ['sellerId', 'condition', 'isPrime'];
      return (await call('jobs_get_result', part(data, { path: 'products.0.offers', fields }))).items;
    },
  },
  {
    question: 'Which variations does it have?',
    calls: 1,
    tokens: 3_000,
    ask: async (call) =>
      (await call('market_get_variations', { domain: 1, asin: 'B0C3CDEF01', perPage: 5 })).variations ?? true,
  },
  {
    question: 'What sells best in this category?',
    calls: 1,
    tokens: 3_000,
    ask: async (call) =>
      (await call('market_get_best_sellers', { domain: 1, category: '200000', perPage: 10 })).asinList ??
      true,
  },
  {
    question: 'What are the deals of today?',
    calls: 2,
    tokens: 7_300,
    async ask(call) {
      const data = await call('market_find_deals', { domainId: 1 });
      if (!data.outline) return data.deals;
      return (await call('jobs_get_result', part(data, { path: 'deals.dr', fields: ['asin', 'title'] })))
        .items;
    },
  },
  {
    question: 'Is interest in kettles growing?',
    calls: 1,
    tokens: 4_500,
    ask: (call) => call('web_trends_interest_over_time', { keyword: ['kettle'] }),
  },
  {
    question: 'What do people search for besides?',
    calls: 1,
    tokens: 3_000,
    ask: (call) => call('web_trends_related_queries', { keyword: ['kettle'] }),
  },
  {
    question: 'How does the term "desk lamp" rank?',
    calls: 1,
    tokens: 1_000,
    ask: (call) => call('aba_search_keywords', { country: 'us', keyword: 'lamp' }),
  },
  {
    question: 'Which of these sellers is rated better?',
    calls: 1,
    tokens: 3_000,
    ask: async (call) =>
      (await call('market_get_seller', { domain: 1, seller: ['ABWRICYPI40AC8', 'AKT8ZJ45IBZW2X'] })).sellers,
  },
];

const test = base
  .extend('demoSettings', { scope: 'file' }, { DEMO_TOKENS_PER_MINUTE: '1000000' })
  .extend('agent', { scope: 'file' }, async ({ demo }, { onCleanup }): Promise<Agent> => {
    const souk = await openSouk({ upstreamUrl: demo.url });
    await loadKeywords(souk.database);
    const agent = await openAgent(await souk.client({ plan: { minuteLimit: 1_000 } }), { toolsets: 'all' });
    onCleanup(async () => {
      await agent.client.close();
      await souk.close();
    });
    return agent;
  });

const spent: { question: string; calls: number; tokens: number; whole: number }[] = [];

test.for(QUESTIONS)('answers "$question" within its calls and tokens', async (one, { agent }) => {
  const counts = { question: one.question, calls: 0, tokens: 0, whole: 0 };
  const answer = await one.ask(async (tool, args) => {
    const { data, content, isError } = await agent.call(tool, args as Record<string, unknown>);
    expect([tool, isError, isError ? data : null]).toEqual([tool, false, null]);
    counts.calls += 1;
    counts.tokens += tokensOf(content);
    // Without parts and points, an agent reads the whole answer.
    const isPart = data.outline || 'points' in args;
    if (isPart) counts.whole = await tokensToRead(agent, `souk://jobs/${data._call.jobId}/result`);
    return data;
  });
  expect(answer).toBeTruthy();
  spent.push(counts);
  expect(counts).toMatchObject({ calls: one.calls });
  expect(counts.tokens).toBeLessThanOrEqual(one.tokens);
});

test('parts and points need at most half of the tokens of reading the whole answers', () => {
  const slowest = spent.filter(({ whole }) => whole > 0);
  expect(slowest.length).toBeGreaterThanOrEqual(3);
  for (const { question, tokens, whole } of slowest)
    expect({ question, isHalved: tokens <= whole / 2, tokens, whole }).toMatchObject({ isHalved: true });
});

function tokensOf(content: readonly { type: string }[]): number {
  return encode(content.map((block) => ('text' in block ? String(block.text) : '')).join('\n')).length;
}

async function tokensToRead({ client }: Agent, resource: string): Promise<number> {
  let tokens = 0;
  for (let uri: unknown = resource; typeof uri === 'string'; ) {
    const { contents } = await client.readResource({ uri });
    const [slice] = contents as unknown as { text: string; _meta?: { next: string | null } }[];
    tokens += encode(slice?.text ?? '').length;
    uri = slice?._meta?.next;
  }
  return tokens;
}
