import { expect } from 'vitest';
import { PROMPTS } from '../../../src/api/mcp/prompts.ts';
import { test } from '../../support/demo-souk-test.ts';
import { type Agent, connectAgent } from '../../support/mcp-client.ts';

type Sent = Record<string, unknown>;

/**
 * What an agent adds to the arguments that a prompt states, by the tool that the prompt names; a tool that follows needs an
 * answer of another one. A prompt without an entry fails.
 */
const SCRIPTS: Record<string, { values: Record<string, string>; tools: Record<string, Sent | 'follows'> }> = {
  watch_product: {
    values: { asin: 'B0C3CDEF01' },
    tools: { market_get_product: { country: 'us', asins: ['B0C3CDEF01'] }, jobs_get_result: 'follows' },
  },
  research_keyword: {
    values: { keyword: 'lamp' },
    tools: {
      aba_search_keywords: { country: 'us', keyword: 'lamp' },
      aba_get_word_detail: { wordId: 33 },
      web_trends_interest_over_time: { keyword: ['lamp'] },
      web_trends_related_queries: { keyword: ['lamp'] },
      market_search_products: { domain: 1, term: 'lamp' },
    },
  },
  compare_sellers: {
    values: { sellers: 'ABWRICYPI40AC8,AKT8ZJ45IBZW2X' },
    tools: { market_get_seller: { domain: 1, seller: ['ABWRICYPI40AC8', 'AKT8ZJ45IBZW2X'] } },
  },
};

/** Returns the steps of a prompt that name tools, with the arguments that the step states as `name=value`. */
function stepsOf(text: string): { tool: string; stated: Sent }[] {
  return text.split('\n').flatMap((step) => {
    const tools =
      step.match(/\b(?:market|aba|web_trends|jobs|batches|schedules|trackers|retail)_[a-z_]+/g) ?? [];
    const stated = Object.fromEntries(
      [...step.matchAll(/(\w+)=([\w.,]*\w)/g)].map(([, name = '', value]) => [name, value]),
    );
    return tools.map((tool) => ({ tool, stated }));
  });
}

/** Plays a prompt: calls each tool that it names with the arguments that it states. Returns the answers by tool. */
async function play(agent: Agent, prompt: string): Promise<Record<string, Sent>> {
  const { values = {}, tools = {} } = SCRIPTS[prompt] ?? {};
  const { messages } = await agent.client.getPrompt({ name: prompt, arguments: values });
  const [message] = messages;
  const text = message?.content.type === 'text' ? message.content.text : '';
  const listed = (await agent.client.listTools()).tools.map(({ name }) => name);
  const steps = stepsOf(text);
  expect(steps.map(({ tool }) => tool).filter((tool) => !listed.includes(tool))).toEqual([]);
  expect([...new Set(steps.map(({ tool }) => tool))].sort()).toEqual(Object.keys(tools).sort());
  const answers: Record<string, Sent> = {};
  for (const { tool, stated } of steps) {
    const own = tools[tool];
    if (own === undefined || own === 'follows') continue;
    const { data, isError } = await agent.call(tool, { ...stated, ...own });
    expect([tool, data.error, isError]).toEqual([tool, undefined, false]);
    answers[tool] = data;
  }
  return answers;
}

test('every prompt has a script', () => {
  expect(Object.keys(SCRIPTS).sort()).toEqual(PROMPTS.map(({ name }) => name).sort());
});

test.for(Object.keys(SCRIPTS))(
  'the prompt %s names only tools of the default list, which accept what it states',
  async (prompt, { demoSouk }) => {
    await play(await connectAgent(await demoSouk.client()), prompt);
  },
);

test('watching a product returns what the prompt says to state', async ({ demoSouk }) => {
  const { market_get_product: answer } = await play(
    await connectAgent(await demoSouk.client()),
    'watch_product',
  );
  expect(answer?.products).toMatchObject([
    {
      title: expect.any(String),
      statistics: {
        current: {
          new: expect.any(Number),
          salesRank: expect.any(Number),
          rating: expect.any(Number),
          newOffers: expect.any(Number),
        },
        avg90: { new: expect.any(Number) },
        minInInterval: { new: { time: expect.any(String), value: expect.any(Number) } },
      },
    },
  ]);
});
