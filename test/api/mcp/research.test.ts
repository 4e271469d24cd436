import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect } from 'vitest';
import { csvOf } from '../../../demo/reports/formats.ts';
import { rankingOf } from '../../../demo/reports/ranking.ts';
import { withChart } from '../../../src/api/mcp/chart.ts';
import { listedTools } from '../../../src/api/mcp/tool-directory.ts';
import { TOOLSETS } from '../../../src/operations/toolsets.ts';
import { addDays } from '../../../src/platform/calendar.ts';
import { WEEK_MS } from '../../../src/platform/durations.ts';
import type { Client } from '../../support/client.ts';
import { type Agent, openAgent } from '../../support/mcp-client.ts';
import { load } from '../../support/reports.ts';
import { openSouk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import { QUESTIONS, type ScriptedAgent } from './research-questions.ts';

// Answers thirty questions twice: from the whole raw answers of the HTTP interface, and by an agent with the default list.
// The tokens of both are those of the tool list, of the calls and of the results.

const LAST_WEEK = '2026-02-28';
const WEEKS = 8;
const TERMS = 600;

interface Spent {
  question: string;
  calls: number;
  tokens: number;
  rawTokens: number;
}

const test = base
  .extend(
    'demoSettings',
    { scope: 'file' },
    { DEMO_TOKENS_PER_MINUTE: '1000000', DEMO_LIGHTNING_DEALS: '100' },
  )
  .extend('asked', { scope: 'file' }, async ({ demo }, { onCleanup }) => {
    const souk = await openSouk({ upstreamUrl: demo.url });
    for (let week = WEEKS - 1; week >= 0; week -= 1) {
      const last = addDays(LAST_WEEK, -7 * week);
      const ranking = rankingOf({
        site: 'us',
        week: Math.floor(Date.parse(last) / WEEK_MS),
        terms: TERMS,
        productsPerLeaf: 60,
      });
      await load(souk.database, 'us', [...csvOf(ranking, addDays(last, -6), last)].join(''));
    }
    const client = await souk.client({ plan: { minuteLimit: 1_000 } });
    const agent = await openAgent(client);
    onCleanup(async () => {
      await agent.client.close();
      await souk.close();
    });
    return { client, agent };
  });

const tokensOf = (text: string) => encode(text).length;
const LIST = listedTools(['default'], null).map(withChart);
const LIST_TOKENS = tokensOf(JSON.stringify(LIST));
const FULL_LIST_TOKENS = tokensOf(JSON.stringify(listedTools(TOOLSETS, null).map(withChart)));

const all: Spent[] = [];

test('there are thirty questions', () => {
  expect(new Set(QUESTIONS.map(({ question }) => question)).size).toBe(30);
});

test.for(QUESTIONS)(
  'an agent finds the facts for $question in results of at most 6,000 tokens',
  async (one, { asked }) => {
    const spent: Spent = {
      question: one.question,
      calls: 0,
      tokens: LIST_TOKENS,
      rawTokens: FULL_LIST_TOKENS,
    };
    const expected = await one.facts((path, body) => wholeAnswer(asked.client, spent, path, body));
    expect(expected).toBeTruthy();
    expect(Array.isArray(expected) ? expected.length : 1).toBeGreaterThan(0);
    expect(await one.ask(scripted(asked.agent, spent))).toEqual(expected);
    all.push(spent);
  },
);

test('an agent needs at most a quarter of the tokens of a full list and whole raw answers', () => {
  const ratios = all.map(({ tokens, rawTokens }) => tokens / rawTokens).sort((a, b) => a - b);
  const median = ((ratios[14] ?? 1) + (ratios[15] ?? 1)) / 2;
  process.stdout.write(
    `${table(all)}\nTool lists: ${LIST_TOKENS} and ${FULL_LIST_TOKENS}. Median: ${median.toFixed(3)}\n`,
  );
  expect(ratios).toHaveLength(30);
  expect(median).toBeLessThanOrEqual(0.25);
  expect(ratios.at(-1)).toBeLessThan(0.5);
});

/** Requests the whole raw answer, and counts the tokens of the request and of the answer. */
async function wholeAnswer(client: Client, spent: Spent, path: string, body?: object) {
  const reply = await (body ? client.post(path, body) : client.get(path));
  expect([path, reply.status]).toEqual([path, 200]);
  spent.rawTokens += tokensOf(`${path}${body ? JSON.stringify(body) : ''}`) + tokensOf(reply.text);
  return reply.json.data;
}

/** An agent that knows only the tools of the default list. */
function scripted(agent: Agent, spent: Spent): ScriptedAgent {
  const call: ScriptedAgent['call'] = async (name, args) => {
    expect(LIST.map((tool) => tool.name)).toContain(name);
    const { data, content, isError } = await agent.call(name, args as Record<string, unknown>);
    expect([name, isError, isError ? data : null]).toEqual([name, false, null]);
    const tokens = tokensOf(content.map((block) => ('text' in block ? String(block.text) : '')).join('\n'));
    expect(tokens).toBeLessThanOrEqual(6_000);
    spent.calls += 1;
    spent.tokens += tokensOf(JSON.stringify({ name, arguments: args })) + tokens;
    return data;
  };
  return {
    call,
    async find(words, tool, args) {
      const { tools } = await call('tools_search', { query: words });
      const found = tools.find(({ name }: { name: string }) => name === tool);
      expect(Object.keys(found.inputSchema.properties)).toEqual(expect.arrayContaining(Object.keys(args)));
      return call('tools_call', { name: tool, arguments: args });
    },
  };
}

function table(rows: readonly Spent[]): string {
  const lines = rows.map(({ question, calls, tokens, rawTokens }) =>
    [question.padEnd(80), calls, tokens, rawTokens, (tokens / rawTokens).toFixed(3)].join(' | '),
  );
  return ['Question | Calls | Tokens | Tokens of list and raw answers | Ratio', ...lines].join('\n');
}
