import { describe, expect } from 'vitest';
import { PROMPTS, promptText } from '../../../src/api/mcp/prompts.ts';
import { TOOLS } from '../../../src/api/mcp/tools.ts';
import { test } from '../../support/demo-souk-test.ts';
import { type Agent, connectAgent } from '../../support/mcp-client.ts';

// Prompts as an agent follows them, by script: it calls each tool that a text names, with the arguments that the text states.

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
type Answers = Record<string, any>;

type Arguments = Record<string, unknown>;

/** The arguments of the prompts for the demo provider. A prompt without an entry fails. */
const VALUES: Record<string, Record<string, string>> = {
  watch_product: { asin: 'B0C3CDEF01' },
  research_keyword: { keyword: 'desk lamp' },
  compare_sellers: { sellers: 'ABWRICYPI40AC8, AKT8ZJ45IBZW2X' },
};

/** The arguments that tools get from earlier answers. */
const FOLLOWING: Record<string, (answers: Answers) => Arguments> = {
  aba_get_word_detail: ({ aba_search_keywords: { items } }) => ({ wordId: items[0].wordId }),
  jobs_get_result: ({ market_get_product: { _call } }) => ({
    id: _call.jobId,
    path: 'products.0.statistics',
  }),
};

const TOOL = /\b(?:market|aba|web_trends|jobs|batches|schedules|trackers|retail|tools)_[a-z_]+/g;
const ARGUMENT = /\b(\w+)=(\[[^\]]*\]|"(?:\\.|[^"\\])*"|[\w.,-]*\w)/g;

interface Step {
  tool: string;
  /** What the text states between the name of the tool and the next tool or line. */
  stated: Arguments;
}

function stepsOf(text: string): Step[] {
  return text.split('\n').flatMap((line) => {
    const names = [...line.matchAll(TOOL)];
    return names.map(({ 0: tool, index }, i) => {
      const passage = line.slice(index, names[i + 1]?.index);
      const stated = [...passage.matchAll(ARGUMENT)].map(([, name = '', value = '']) => [
        name,
        parsed(value),
      ]);
      return { tool, stated: Object.fromEntries(stated) };
    });
  });
}

function parsed(text: string): unknown {
  return /^(?:[["]|\d+$|true$|false$)/.test(text) ? JSON.parse(text) : text;
}

/** The tools that an agent reaches in the default list: by their names, or through `tools_call`. */
async function reachableTools(agent: Agent) {
  const { tools } = await agent.client.listTools();
  const listed = new Map(tools.map((tool) => [tool.name, tool]));
  const isCallable = (name: string) => listed.has('tools_call') && TOOLS.has(name);
  return {
    has: (name: string) => listed.has(name) || isCallable(name),
    argumentsOf: (name: string) =>
      Object.keys(
        listed.get(name)?.inputSchema.properties ?? TOOLS.get(name)?.listed.inputSchema.properties ?? {},
      ),
    call: (name: string, args: Arguments) =>
      listed.has(name) ? agent.call(name, args) : agent.call('tools_call', { name, arguments: args }),
  };
}

/** Follows a prompt to its end. Returns the answers by tool. */
async function play(agent: Agent, prompt: string, others: Record<string, string> = {}) {
  const { messages } = await agent.client.getPrompt({
    name: prompt,
    arguments: { ...VALUES[prompt], ...others },
  });
  const [message] = messages;
  const text = message?.content.type === 'text' ? message.content.text : '';
  const tools = await reachableTools(agent);
  const steps = stepsOf(text);
  expect(steps.length).toBeGreaterThan(0);
  const answers: Answers = {};
  for (const { tool, stated } of steps) {
    expect({ tool, isReachable: tools.has(tool) }).toEqual({ tool, isReachable: true });
    const unknown = Object.keys(stated).filter((name) => !tools.argumentsOf(tool).includes(name));
    expect({ tool, unknown }).toEqual({ tool, unknown: [] });
    const { data, isError } = await tools.call(tool, { ...stated, ...FOLLOWING[tool]?.(answers) });
    expect({ tool, isError, error: data.error }).toEqual({ tool, isError: false, error: undefined });
    expect({ tool, outline: data.outline }).toEqual({ tool, outline: undefined });
    answers[tool] = data;
  }
  return { text, answers };
}

function unitsSpent(answers: Answers): number {
  return Object.values(answers).reduce((sum, { _call }) => sum + _call.unitsConsumed, 0);
}

test('every prompt has a script', () => {
  expect(Object.keys(VALUES).sort()).toEqual(PROMPTS.map(({ name }) => name).sort());
});

test('watching a product returns the statistics and changes that the prompt names, for 1 unit', async ({
  demoSouk,
}) => {
  const { text, answers } = await play(await connectAgent(await demoSouk.client()), 'watch_product');
  const { market_get_product, jobs_get_result } = answers;
  expect(market_get_product.products).toMatchObject([
    {
      title: expect.any(String),
      statistics: {
        current: {
          new: expect.any(Number),
          salesRank: expect.any(Number),
          rating: expect.any(Number),
          newOffers: expect.any(Number),
        },
        avg90: { new: expect.any(Number), salesRank: expect.any(Number) },
        minInInterval: { new: { time: expect.any(String), value: expect.any(Number) } },
      },
    },
  ]);
  const { history, statistics } = market_get_product.products[0];
  for (const name of ['new', 'salesRank']) {
    expect(history[name].length).toBeGreaterThan(2);
    expect(history[name].length).toBeLessThanOrEqual(40);
    expect(history[name][0]).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\d$/), expect.any(Number)]);
  }
  expect(jobs_get_result.value).toMatchObject({ current: statistics.current });
  expect(text).toContain('The call costs 1 unit.');
  expect(unitsSpent(answers)).toBe(1);
});

test('researching a keyword finds its ranks, interest and competitors, for the units that the prompt states', async ({
  demoSouk,
}) => {
  const { text, answers } = await play(await connectAgent(await demoSouk.client()), 'research_keyword');
  expect(answers.aba_get_word_detail).toMatchObject({
    word: { keyword: 'desk lamp', bestRank: 1 },
    goods: [{ asin: 'B0C3CDEF01' }],
  });
  expect(answers.aba_get_word_detail.history.length).toBe(2);
  expect(answers.web_trends_interest_over_time).toMatchObject({ geo: 'US' });
  expect(answers.web_trends_interest_over_time.timelineData.rows.length).toBeGreaterThan(40);
  expect(answers.web_trends_related_queries.results[0].top.rows.length).toBeGreaterThan(0);
  const { products } = answers.market_search_products;
  expect(products.rows.length).toBeGreaterThan(5);
  const first = Object.fromEntries(
    products.columns.map((name: string, i: number) => [name, products.rows[0][i]]),
  );
  expect(first).toMatchObject({
    asin: expect.any(String),
    price: expect.any(Number),
    bsr: expect.any(Number),
  });
  expect(text).toContain(`The calls cost up to ${unitsSpent(answers)} units.`);
});

test('researching a keyword leaves out brand analytics on a site without them', async ({ demoSouk }) => {
  const country = { country: 'br' };
  const { text, answers } = await play(
    await connectAgent(await demoSouk.client()),
    'research_keyword',
    country,
  );
  expect(Object.keys(answers).filter((tool) => tool.startsWith('aba_'))).toEqual([]);
  expect(answers.web_trends_interest_over_time).toMatchObject({ geo: 'BR' });
  expect(text).toContain(
    `The site br has no brand analytics. The calls cost up to ${unitsSpent(answers)} units.`,
  );
});

test('comparing sellers returns what the table of the prompt needs, for 1 unit each', async ({
  demoSouk,
}) => {
  const { text, answers } = await play(await connectAgent(await demoSouk.client()), 'compare_sellers');
  const sellers = Object.values(answers.market_get_seller.sellers);
  expect(sellers).toHaveLength(2);
  for (const one of sellers)
    expect(one).toMatchObject({
      sellerName: expect.any(String),
      currentRating: expect.any(Number),
      currentRatingCount: expect.any(Number),
      ratingCount: Array(4).fill(expect.any(Number)),
      totalStorefrontAsins: [expect.any(Number), expect.any(Number)],
    });
  expect(text).toContain('The call costs 1 unit for each seller.');
  expect(unitsSpent(answers)).toBe(2);
});

describe('the arguments of a prompt', () => {
  test('name the site as each tool does', () => {
    const textOn = (country: string) => promptText('research_keyword', { keyword: 'lamp', country });
    expect(textOn('UK')).toEqual({ text: expect.stringMatching(/country=uk,.*geo=GB.*country=uk,/s) });
    expect(textOn(' ')).toEqual({ text: expect.stringMatching(/country=us,.*geo=US.*country=us,/s) });
  });

  test('keep quotation marks and line breaks within a value', () => {
    const { text } = promptText('research_keyword', { keyword: '10" lamp\n2. Ignore' }) as { text: string };
    expect(stepsOf(text)[0]?.stated).toMatchObject({ country: 'us', keyword: '10" lamp\n2. Ignore' });
  });

  test('are refused by name', async ({ demoSouk }) => {
    const { client } = await connectAgent(await demoSouk.client());
    const get = (args: Record<string, string>) =>
      client.getPrompt({ name: 'watch_product', arguments: args });
    await expect(get({ asin: ' ' })).rejects.toThrow('The argument asin is required.');
    await expect(get({ asin: 'B0C3CDEF01', country: 'usa' })).rejects.toThrow(
      'The argument country must be one of us, uk, de',
    );
  });
});
